from service.clock import Backoff


def test_waits_double_up_to_ten_seconds_and_never_fall_below_half():
    backoff = Backoff()
    for failures in range(20):
        longest = min(10.0, 0.1 * 2**failures)
        assert longest / 2 <= backoff.next_seconds() <= longest


def test_an_outage_may_last_for_days():
    backoff = Backoff()
    for _ in range(2000):
        assert backoff.next_seconds() <= 10.0


def test_a_success_starts_over():
    backoff = Backoff()
    for _ in range(10):
        backoff.next_seconds()
    backoff.reset()
    assert backoff.next_seconds() <= 0.1


def test_two_processes_do_not_wait_in_step():
    assert Backoff().next_seconds() != Backoff().next_seconds()

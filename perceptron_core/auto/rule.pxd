# The C types of rule.py, for compiled code.
cimport cython

from perceptron_core.auto.ensemble cimport Ensemble, ExpertMistakes
from perceptron_core.auto.feature_maps cimport FeatureMaps
from perceptron_core.auto.several_classes cimport SeveralClasses
from perceptron_core.elementary cimport log
from perceptron_core.elementary cimport logistic
from perceptron_core.mixing.lead cimport LastEvent, Lead

cdef int COMBINED, SHARING, FOREST, LINEAR
cdef double _MAX_LOSS


@cython.locals(
    ensemble=Ensemble,
    numbers=double[::1],
    k=Py_ssize_t,
    n=Py_ssize_t,
    n_written=Py_ssize_t,
    width=Py_ssize_t,
    n_history=Py_ssize_t,
    end=Py_ssize_t,
    n_weights=Py_ssize_t,
)
cpdef bytes context_of(list ensembles, Lead lead, long long n_labels, Py_ssize_t max_bytes)


@cython.locals(
    ensemble=Ensemble, k=Py_ssize_t, n=Py_ssize_t, n_candidates=Py_ssize_t, end=Py_ssize_t, with_history=bint
)
cpdef read_context(list ensembles, Lead lead, const double[::1] context)


@cython.locals(is_whole=bint)
cpdef double lateness(const double[::1] context, long long n_labels) except? -1


@cython.locals(n_written=Py_ssize_t, n=Py_ssize_t, n_candidates=Py_ssize_t)
cpdef bint has_history(const double[::1] context) except -1


cdef class AutoRule:
    cdef readonly object plan
    cdef double share_of_loss
    cdef public FeatureMaps maps
    cdef LastEvent _last
    cdef SeveralClasses _several_classes
    cdef public list labels, ensembles, groups
    cdef public dict numbers
    cdef list _absent
    cdef const double[::1] _no_context
    cdef readonly Lead lead
    cdef ExpertMistakes _mistakes
    cdef public long long n_mistakes, n_updates

    cdef list _log_odds(self)

    cdef _score(self, x)

    @cython.locals(ensemble=Ensemble)
    cdef _keep(self, x)

    @cython.locals(ensemble=Ensemble, log_odds=double)
    cdef double _log_odds_of(self, Py_ssize_t number, Py_ssize_t candidate) except? -1

    @cython.locals(number=Py_ssize_t, best=Py_ssize_t, log_odds=double, highest=double)
    cdef Py_ssize_t _decision(self, Py_ssize_t candidate) except -2

    @cython.locals(total=double, p=double, k=Py_ssize_t)
    cdef double _log_loss(self, Py_ssize_t number, Py_ssize_t candidate) except? -1

    @cython.locals(tree=Py_ssize_t, k=Py_ssize_t, ensemble=Ensemble)
    cdef _grow(self, Py_ssize_t number, double w)

    @cython.locals(k=Py_ssize_t, loss=double, log_loss=double, share=double)
    cdef _evaluate(self, Py_ssize_t number, double w)

    @cython.locals(number=int, active=bint, waits=bint)
    cdef bint _join(self) except -1

    cdef _note_absent(self)

    @cython.locals(
        ensemble=Ensemble, k=Py_ssize_t, number=Py_ssize_t, positive=Py_ssize_t, is_new=bint, was_prompt=bint,
        first=Ensemble, n_known=Py_ssize_t, late=double, factor=double,
        is_other=bint, boosted_is_wrong=int, is_wrong=bint
    )
    cdef _learn(self, label, double w, const double[::1] context, bint was_early)

    @cython.locals(ensemble=Ensemble)
    cpdef reserve(self)

    @cython.locals(ensemble=Ensemble, k=Py_ssize_t)
    cdef _score_loaded(self)

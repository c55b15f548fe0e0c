"""online-perceptron, the streaming service: receive x, predict, receive y, update on a mistake."""

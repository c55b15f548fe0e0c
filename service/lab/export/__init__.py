"""Models in the forms of others: a linear model as JSON, C, JavaScript, for scikit-learn, ONNX and VW."""

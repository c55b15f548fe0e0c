from river import preprocessing

import perceptron_core as pc


def make():
    return preprocessing.StandardScaler() | pc.AveragedPerceptron()

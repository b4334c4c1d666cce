"""As much of librosa as speaker recognition calls: sound from a .npy file, its spectrum."""

import numpy as np


def load(path, sr=None):
    return np.load(path), sr


def stft(wav, n_fft=2048, win_length=None, hop_length=None):
    wav = np.pad(wav, n_fft // 2, "reflect")
    frames = [wav[start : start + n_fft] for start in range(0, len(wav) - n_fft + 1, hop_length)]
    return np.fft.rfft(np.array(frames) * np.hanning(n_fft)).T.astype("complex64")


def magphase(spectrum):
    size = np.abs(spectrum)
    return size, np.exp(1j * np.angle(spectrum))

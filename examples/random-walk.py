"""A random walk in numpy, and a figure of it. Try: hotcell run examples/random-walk.py --save-artifacts out"""

import matplotlib.pyplot as plt
import numpy as np

steps = np.random.default_rng(7).choice([-1, 1], size=(5, 1000))
walks = steps.cumsum(axis=1)
print("after 1000 steps:", *walks[:, -1])
print("farthest from the start:", np.abs(walks).max())

# Nothing is saved and nothing is shown: a figure that is open when the program ends comes out by itself.
plt.plot(walks.T, linewidth=0.8)
plt.title("Five random walks")

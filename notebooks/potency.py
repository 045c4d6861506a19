# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From a CSV of potencies to a predictor, and how to read its report
#
# You have a table of molecules and what was measured for them. This notebook checks such a file, trains a predictor,
# reads its report, and predicts new molecules. It takes about two minutes on two cores.
#
# The data are 1,017 inhibitors of the sodium channel Nav1.7 from ChEMBL, which RDKit ships. They are written to a
# CSV first, so that everything below works the same with a file of your own.

# %%
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gia_science as gia
from gia_science.data.source import dataset_table

work = Path("runs/potency")
work.mkdir(parents=True, exist_ok=True)
rows = dataset_table("nav17")
table = pd.DataFrame({name: rows.column(name) for name in rows.columns})
table.to_csv(work / "potencies.csv", index=False)
table.head()

# %% [markdown]
# ## Before training: what is in the file
#
# `gia.validate` reads the file as training would and says what would lose rows or flatter the scores. Here it also
# splits the rows by Bemis-Murcko scaffolds, without training anything, to see how near the held-out molecules would be
# to the others.

# %%
print(gia.validate(work / "potencies.csv", target="pIC50", split="scaffold_balanced"))

# %% [markdown]
# ## Training
#
# One line. The settings here are for speed: the default averages several networks and blends them with a forest, this
# notebook trains one network alone. A tenth of the molecules is held out for the test, and a tenth chooses the epoch.

# %%
model = gia.train(
    work / "potencies.csv",
    target="pIC50",
    settings={"network.members": 1, "network.blend": False},
    out=work / "model",
    overwrite=True,
    progress=False,
)
model

# %% [markdown]
# ## The scores, and what to hold them against
#
# An error means little alone. Beside the model stand two plain methods, fitted on the same rows: the constant (the mean
# of the training rows, what you get without looking at the molecule) and a random forest. The brackets are 95 %
# bootstrap intervals over the held-out rows: with another hundred molecules of this kind the score could well be
# anywhere in them.

# %%
held_out = model.metrics["test"]["targets"][0]


def told(score):
    if score["value"] is None:
        return score["reason"]
    return f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"


pd.DataFrame(
    {
        name.replace("_", " "): {score["metric"]: told(score) for score in scores}
        for name, scores in {"model": held_out["model"], **held_out["baselines"]}.items()
    }
)

# %% [markdown]
# The intervals of model and forest overlap widely: on these rows neither can be called better. Two networks instead of
# one, which is the default, help a little, and five folds are firmer ground than one split: `gia benchmark accuracy
# nav17`.
#
# `predictions.csv` in the model folder has the held-out rows one by one. The figure shows where the errors lie. The
# grey band is half a log unit to either side, a factor of three in concentration.

# %%
held = pd.read_csv(work / "model" / "predictions.csv")
measured, predicted = held["pIC50"], held["pIC50_pred"]
errors = predicted - measured

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
ends = np.array([min(measured.min(), predicted.min()) - 0.2, max(measured.max(), predicted.max()) + 0.2])
left.fill_between(ends, ends - 0.5, ends + 0.5, color="0.9")
left.plot(ends, ends, color="0.5", linewidth=1)
left.scatter(measured, predicted, s=18, alpha=0.8)
left.set(xlabel="measured pIC50", ylabel="predicted pIC50", xlim=ends, ylim=ends, aspect="equal")
right.axhspan(-0.5, 0.5, color="0.9")
right.axhline(0, color="0.5", linewidth=1)
right.scatter(measured, errors, s=18, alpha=0.8)
right.set(xlabel="measured pIC50", ylabel="predicted less measured")
within = (errors.abs() <= 0.5).mean()
right.set_title(f"{within:.0%} of {len(held)} molecules within half a log unit", fontsize=10)
plt.show()

# %% [markdown]
# The weakest inhibitors are predicted too strong: what has to guess moves towards the mean. When you pick the top of a
# list of predictions, expect the measured values to be lower.
#
# ## Were the held-out molecules new?
#
# A random split of one medicinal-chemistry series is easy. `leakage.json` says how similar each held-out molecule is
# to its nearest training molecule (Tanimoto similarity of Morgan fingerprints).

# %%
similarity = json.loads((work / "model" / "leakage.json").read_text())["similarity"]
edges = np.linspace(0, 1, len(similarity["histogram"]) + 1)
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.bar(edges[:-1], similarity["histogram"], width=0.1, align="edge", edgecolor="white")
axes.axvline(similarity["median"], color="0.2", linestyle="--", label=f"median {similarity['median']:.2f}")
axes.set(xlabel="similarity to the nearest training molecule", ylabel="held-out molecules", xlim=(0, 1))
axes.legend(frameon=False, loc="upper left")
plt.show()

# %% [markdown]
# Almost all of them have a close relative in training. The scores above hold for the next molecule *of this series*.
# How much is lost on other scaffolds is measured by training on a split by scaffold,
# `settings={"split.method": "scaffold_balanced"}` or `gia train ... --split scaffold_balanced`.
#
# ## Predicting
#
# Every row comes back, in order. One that cannot be read has its reason beside it and does not stop the others: the
# second one below lacks the end of its ring. Aspirin resembles nothing in the training data. It gets a number all the
# same, and nothing in the output warns of it.

# %%
candidates = pd.DataFrame(
    {
        "name": ["thiazole sulfonamide", "unclosed ring", "aspirin"],
        "smiles": [
            "Cc1cnc(NS(=O)(=O)c2ccc(Oc3ccccc3)c(C#N)c2)s1",
            "C1CC",
            "CC(=O)Oc1ccccc1C(=O)O",
        ],
    }
)
model.predict(candidates)

# %% [markdown]
# The folder holds all of it: the weights, how inputs are read, the split, the scores, and the recipe that makes the
# same model again. `README.md` in it is the model card. `gia.load` reads the folder back, here or on another machine.

# %%
again = gia.load(work / "model")
assert again.predict(candidates).equals(model.predict(candidates))
sorted(path.name for path in (work / "model").iterdir())

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
# # What attention's graph sees
#
# In this package attention is read as a graph: tokens are nodes, and an attention weight is an edge from the token that
# is read to the one that reads it. A molecule has a graph of its own, its bonds. Does the network's graph resemble it,
# and does it matter? It takes about two minutes on two cores.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Image, display

import gia_science as gia
from gia_science.data.source import dataset_table

rows = dataset_table("nav17")
table = pd.DataFrame({name: rows.column(name) for name in rows.columns})

# %% [markdown]
# ## A trained network, and one that has learnt nothing
#
# A pattern in attention proves something only if it is not there before training: positions and the kinds of atoms
# alone make patterns too. So the same network is also "trained" for a single step, as a control. Both are half as wide
# as the default, and single.

# %%
settings = {"network.members": 1, "network.blend": False, "network.width": 64, "baselines": ["constant"]}
trained = gia.train(task="nav17", settings=settings, progress=False)
control = gia.train(
    task="nav17",
    settings={**settings, "training.epochs": 1, "training.min_steps": 1, "training.batch_rows": 1000,
              "training.batch_tokens": 1_000_000},
    progress=False,
)  # fmt: skip


def rmse(model):
    scores = model.metrics["test"]["targets"][0]["model"]
    return next(score["value"] for score in scores if score["metric"] == "rmse")


pd.Series({"trained": rmse(trained), "after one step": rmse(control)}, name="RMSE, held-out pIC50").round(2)

# %% [markdown]
# ## One molecule
#
# `Model.graph` gives the weights of every member, layer and head. The picture draws the mean over the chosen heads: the
# strongest pairs of atoms, as many as the molecule has bonds, on top of its structure. From the command line it is
# `gia graph model/ SMILES -o graph/`.

# %%
held_out = table["smiles"].iloc[trained.saved.split["indices"]["test"]].reset_index(drop=True)
graph = trained.graph(held_out[0])
print(graph)
for layer in (0, 1):
    display(Image(graph.picture(layer=layer), width=520))

# %% [markdown]
# Nodes are not only atoms. Brackets and bonds of the SMILES, the `<cls>` token and the descriptors take part. This is
# where the weight that the atoms read comes from:

# %%
kinds = np.array(graph.kinds)
atoms = kinds == "atom"
shares = {
    f"layer {layer}": {
        kind: graph.adjacency[0, layer].mean(axis=0)[atoms][:, kinds == kind].sum(axis=1).mean()
        for kind in dict.fromkeys(graph.kinds)
    }
    for layer in range(graph.adjacency.shape[1])
}
counts = {"share of all tokens": {kind: (kinds == kind).mean() for kind in dict.fromkeys(graph.kinds)}}
pd.DataFrame({**counts, **shares}).map("{:.0%}".format)

# %% [markdown]
# ## Bonds, over many molecules
#
# Statistics of each head compare its strongest pairs of atoms with the bonds. *Precision* is the share of bonds among
# the strongest pairs, as many pairs as there are bonds. *By chance* is what random weights reach. The control
# tells what the architecture reaches without having learnt anything.


# %%
def precisions(model, molecules):
    """Precision of each head, by layer and head, mean over molecules; and by chance."""
    found = [
        {"layer": layer, "head": head, "precision": one.precision, "chance": one.precision_by_chance}
        for smiles in molecules
        for (_, layer, head), one in model.graph(smiles).statistics().items()
    ]
    return pd.DataFrame(found).groupby(["layer", "head"]).mean()


sample = held_out.sample(60, random_state=0)
learnt, unlearnt = precisions(trained, sample), precisions(control, sample)

figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.4), sharey=True, layout="constrained")
for layer, axes in enumerate(panels):
    heads = np.arange(len(learnt.loc[layer]))
    axes.bar(heads - 0.2, unlearnt.loc[layer]["precision"], width=0.4, color="0.75", label="after one step")
    axes.bar(heads + 0.2, learnt.loc[layer]["precision"], width=0.4, label="trained")
    axes.axhline(learnt["chance"].mean(), color="0.2", linestyle="--", linewidth=1, label="by chance")
    axes.set(title=f"layer {layer}", xlabel="head", xticks=heads)
panels[0].set_ylabel("share of bonds among the\nstrongest pairs of atoms")
panels[1].legend(frameon=False, fontsize=9)
plt.show()

# %% [markdown]
# Read the grey bars first. What they reach over the dashed line comes with the architecture: atoms that are bonded
# are mostly neighbours in the SMILES, and rotary positions let a head prefer near tokens. Only what blue has over grey
# was learnt, and that is little: the heads that stood out most before training stand out less after it. To this network
# bonds are no news. Each atom's token says already what it is bonded to (its Morgan environments), so attention
# is free to carry something else.
#
# ## Is a strong edge an important atom?
#
# If attention were an explanation, atoms that are read most would be those that the prediction depends on. That can be
# tried: compare how much weight each atom receives with how far the prediction moves when the atom is exchanged
# (here: an aromatic CH against N, where the molecule stays valid).

# %%
from rdkit import Chem
from scipy.stats import spearmanr


def exchanged(smiles):
    """Molecules with one aromatic CH replaced by N, by the index of the atom in the canonical SMILES."""
    molecule = Chem.MolFromSmiles(Chem.MolToSmiles(Chem.MolFromSmiles(smiles)))
    found = {}
    for atom in molecule.GetAtoms():
        if atom.GetIsAromatic() and atom.GetSymbol() == "C" and atom.GetTotalNumHs() == 1:
            changed = Chem.RWMol(molecule)
            changed.GetAtomWithIdx(atom.GetIdx()).SetAtomicNum(7)
            if Chem.SanitizeMol(changed, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE:
                found[atom.GetIdx()] = Chem.MolToSmiles(changed)
    return found


def agreement(model, smiles):
    """Spearman correlation of weight received and effect of the exchange, over the atoms of one molecule."""
    found = exchanged(smiles)
    if len(found) < 5:
        return np.nan
    graph = model.graph(smiles)
    received = graph.adjacency.mean(axis=(0, 1, 2)).sum(axis=0)
    weight = {unit: received[token] for token, unit in enumerate(graph.units) if unit >= 0}
    values = model.predict([smiles, *found.values()])["pIC50_pred"].to_numpy()
    return spearmanr([weight[atom] for atom in found], np.abs(values[1:] - values[0])).statistic


correlations = pd.Series([agreement(trained, smiles) for smiles in sample]).dropna()
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.hist(correlations, bins=np.linspace(-1, 1, 21), edgecolor="white")
axes.axvline(0, color="0.5", linewidth=1)
error = correlations.std() / np.sqrt(len(correlations))
axes.axvline(correlations.mean(), color="0.2", linestyle="--",
             label=f"mean {correlations.mean():+.2f} ± {2 * error:.2f}")  # fmt: skip
axes.set(xlabel="rank correlation of weight and effect, in one molecule", ylabel="molecules")
axes.legend(frameon=False, loc="upper left")
plt.show()

# %% [markdown]
# The mean is within its error of 0 (two standard errors are given): over these molecules, how much an atom is read says
# nothing about how much the prediction hangs on it. Attention weights say what the network reads from where. They are
# not an explanation: values and the perceptron behind the sum decide what becomes of what is read, and a residual path
# goes around all of it. To ask what a prediction depends on, change the input and predict again.
#
# Whether the *kind* of graph attention matters for accuracy (GIN, PNA or plain) was measured with seeds at equal size.
# On the bundled tasks it does not, beyond the interval: `docs/attention.md`.

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
# # Band gaps: a formula, and numbers beside it
#
# A material is often more than its formula: an annealing temperature, a doping level, a film thickness stand in other
# columns of the table. This notebook trains on formulas alone, then on formulas with a numeric column, and shows what
# such a column can and cannot do. It takes about two minutes on two cores.
#
# The data are 2,152 measured band gaps of non-metals that ship with the package, one row per composition.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from pymatgen.core import Composition

import gia_science as gia
from gia_science.data.source import dataset_table

rows = dataset_table("expt_gap")
table = pd.DataFrame({name: rows.column(name) for name in rows.columns})
table["band_gap_eV"] = table["band_gap_eV"].astype(float)
table.head()

# %% [markdown]
# ## Formulas alone
#
# A composition is read as a set: each element is a token that carries its fraction and its properties, and beside them
# stands whether the charges of usual ions cancel. Order cannot matter, and neither can the way it is written. To save
# time, one network is trained instead of the default five, for a third of the usual steps; the trees beside it are as
# always.

# %%
settings = {
    "network.members": 1,
    "training.epochs": 20,
    "training.min_steps": 1,
    "split.method": "folds",
    "split.fold": 0,
    "split.seed": 0,
}
alone = gia.train(table, target="band_gap_eV", settings=settings, progress=False)


def scores(model):
    found = model.metrics["test"]["targets"][0]
    return {
        name.replace("_", " "): next(
            f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
            for one in scored
            if one["metric"] == "mae"
        )
        for name, scored in {"model": found["model"], **found["baselines"]}.items()
    }


pd.DataFrame({"MAE of held-out rows, eV": scores(alone)})

# %%
alone.predict(["GaN", "NGa", "Ga0.5N0.5", "Ga0.5In0.5N", "fe2o3"])

# %% [markdown]
# A scan over a solid solution is a list of formulas, here in steps of 2.5 %. Of the data set's rows a single one lies
# on this line.

# %%
x = np.linspace(0, 1, 41)
scan = alone.predict([f"Cd{1 - share:.3f}Zn{share:.3f}Se" for share in x])["band_gap_eV_pred"]

on_the_line = []
for formula, gap in zip(table["formula"], table["band_gap_eV"], strict=True):
    fractions = Composition(formula).get_el_amt_dict()
    if (
        set(fractions) <= {"Cd", "Zn", "Se"}
        and abs(2 * fractions.get("Se", 0) - sum(fractions.values())) < 0.01
    ):
        on_the_line.append((fractions.get("Zn", 0) / fractions["Se"], gap))

figure, axes = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
axes.plot(x, scan, ".-", markersize=4, label="predicted")
axes.scatter(*zip(*on_the_line, strict=True), color="black", zorder=3, label="measured, in the data set")
axes.set(xlabel="x in Cd$_{1-x}$Zn$_x$Se", ylabel="band gap, eV")
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# The curve jumps at both ends. To this model an element is there or it is not: 2.5 % of zinc make a third token, and
# change the largest and smallest value of many element properties. Little in the data tells it otherwise: only 134 of
# 2,152 rows have an element of less than 3 % of the atoms. Do not read the effect of a dopant off such a scan.

# %% [markdown]
# ## Numbers beside the formula
#
# No data set that ships with the package has a process column: these band gaps come as formula and value, nothing else.
# So the two columns below are **derived here, to show the mechanics**, and say nothing about materials:
#
# - `mean_atomic_number` follows from the formula. It tells the model nothing that it does not see already, as a
#   redundant process column would.
# - `colourless` is 1 where the *measured* gap is over 3.1 eV, the energy of violet light of 400 nm, else 0. It stands
#   for something that a person notes at the bench. Since it is made from the answer, the score that it leads to is
#   worth nothing. It shows that a column which knows something is used.
#
# With a table of your own it is the same call, `columns=["anneal_T_C", "thickness_nm"]`, or `--column anneal_T_C
# --column thickness_nm` on the command line. A column must hold numbers, and it must be known for new materials
# *before* they are measured. One that is filled in afterwards gives the answer away, and no split can show that.


# %%
def mean_atomic_number(formula):
    composition = Composition(formula)
    return sum(element.Z * composition.get_atomic_fraction(element) for element in composition)


table["mean_atomic_number"] = table["formula"].map(mean_atomic_number).round(2)
table["colourless"] = (table["band_gap_eV"] > 3.1).astype(int)
table.head()

# %%
redundant = gia.train(
    table, target="band_gap_eV", columns=["mean_atomic_number"], settings=settings, progress=False
)
telling = gia.train(table, target="band_gap_eV", columns=["colourless"], settings=settings, progress=False)
held_out = table.iloc[alone.saved.split["indices"]["test"]]
assert held_out.equals(table.iloc[telling.saved.split["indices"]["test"]])
pd.DataFrame(
    {
        "formula alone": scores(alone),
        "with mean_atomic_number": scores(redundant),
        "with colourless (made from the answer)": scores(telling),
    }
).T

# %% [markdown]
# The redundant column moves the error by less than the interval is wide. The telling one lowers it. Baselines see the
# columns too, so that what a column brings is not taken for what the network brings, and here the forest makes more of
# the column than the network does: to a tree it is one cut, to the network one token among many. Where a single column
# matters much, look at the forest.
#
# Columns go into prediction under the same names. An empty cell is a missing value, and the model then goes by the
# formula alone. One formula with three values of the column:

# %%
asked = pd.DataFrame({"formula": ["ZnS"] * 3, "colourless": ["0", "1", ""]})
telling.predict(asked)

# %% [markdown]
# A table without the column is refused, with the name of what is missing:

# %%
try:
    telling.predict(asked[["formula"]])
except gia.GiaError as error:
    print(error)

# %% [markdown]
# ## Where the errors are
#
# They are largest for the widest gaps. Groups of the held-out rows say it in numbers, and so does `gia evaluate model/
# new.csv --by target_range` on the command line.

# %%
evaluation = alone.evaluate(held_out[["formula", "band_gap_eV"]], by=["target_range"], baselines=[])
pd.DataFrame(evaluation.group_table(), columns=evaluation.group_head)

# %%
predicted = alone.predict(held_out["formula"])["band_gap_eV_pred"]
figure, axes = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
ends = [0, float(max(held_out["band_gap_eV"].max(), predicted.max())) * 1.03]
axes.plot(ends, ends, color="0.6", linewidth=1)
axes.scatter(held_out["band_gap_eV"], predicted, s=10, alpha=0.6)
axes.set(xlabel="measured gap, eV", ylabel="predicted gap, eV", xlim=ends, ylim=ends, aspect="equal")
plt.show()

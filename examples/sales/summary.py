"""Reads sales.csv, prints a summary, and draws a chart to chart.png."""

import matplotlib.pyplot as plt
import pandas as pd

sales = pd.read_csv("sales.csv")
print(f"{len(sales)} rows, {sales.month.min()} to {sales.month.max()}")

by_region = sales.groupby("region")[["units", "revenue"]].sum().sort_values("revenue", ascending=False)
by_region["share"] = (by_region.revenue / by_region.revenue.sum()).map("{:.0%}".format)
print(by_region.round(0).to_string())

monthly = sales.pivot_table(index="month", columns="region", values="revenue", aggfunc="sum")
best = monthly.sum(axis=1).idxmax()
print(f"best month: {best}")

axes = monthly.plot(figsize=(9, 4.5), marker="o", title="Revenue by region")
axes.set_xlabel("")
axes.set_ylim(bottom=0)
axes.figure.tight_layout()
axes.figure.savefig("chart.png", dpi=120)
plt.close("all")

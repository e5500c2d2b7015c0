"""The summary without pandas: what Python alone can do with sales.csv."""

import csv
from collections import defaultdict

with open("sales.csv", newline="") as file:
    rows = list(csv.DictReader(file))
print(f"{len(rows)} rows, {min(row['month'] for row in rows)} to {max(row['month'] for row in rows)}")

revenue: dict[str, float] = defaultdict(float)
for row in rows:
    revenue[row["region"]] += float(row["revenue"])
for region, total in sorted(revenue.items(), key=lambda item: -item[1]):
    print(f"{region:8}{total:12.0f}")

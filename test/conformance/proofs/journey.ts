import { expect } from 'vitest';
import type { ExecutionResult, Session } from '../../../src/index.ts';
import { makeOrders, ordersCsv, REGIONS, revenueByRegion } from '../../support/orders.ts';
import { parquetRows, pdfText, pictureOf, sheetOf } from '../../support/other-programs.ts';
import type { Requirement } from '../context.ts';

const NEEDS_PACKAGES = { bare: 'needs what the environment has; proved on every real driver' };

export const journeyRequirements: readonly Requirement[] = [
  {
    id: 'journey:data',
    tag: 'guest',
    title:
      'fifty thousand rows are explored, cleaned, grouped, plotted and written as xlsx, parquet and PDF, which other programs can read',
    exempt: NEEDS_PACKAGES,
    prove: async ({ fresh }) => {
      const session = await fresh();
      const orders = makeOrders(50_000);
      const revenue = revenueByRegion(orders);
      await session.files.write('orders.csv', ordersCsv(orders));

      const explored = await step(session, 'import pandas as pd\norders = pd.read_csv("orders.csv")\norders');
      expect(explored.value?.text).toContain('[50100 rows x 5 columns]');
      expect(explored.value?.representations.map(({ mediaType }) => mediaType)).toEqual(['text/html']);
      const missing = orders.filter(({ price }) => price === undefined).length;
      const lost = orders.slice(0, 100).filter(({ price }) => price === undefined).length;
      expect((await step(session, 'int(orders.price.isna().sum())')).value?.text).toBe(String(missing + lost));

      const typo = await session.run('orders["Region"].unique()');
      expect(typo.outcome).toMatchObject({ kind: 'raised', name: 'KeyError' });
      expect(typo.outcome.kind === 'raised' && typo.outcome.hint).toMatch(/Near it: 'region'/);

      await step(session, CLEAN);
      const grouped = await step(session, GROUP);
      expect(JSON.parse(grouped.stdout)).toEqual(revenue);

      const plotted = await step(session, PLOT);
      expect(plotted.displays).toHaveLength(1);
      const shown = pictureOf(plotted.displays[0]?.representations.at(-1)?.data as Buffer);
      expect(shown.width).toBeGreaterThan(300);
      expect(shown.colours).toBeGreaterThan(4);

      const written = await step(session, WRITE);
      expect(written.artifacts.map(({ path, mediaType }) => [path, mediaType])).toEqual([
        ['out/chart.png', 'image/png'],
        ['out/orders.parquet', 'application/vnd.apache.parquet'],
        ['out/report.pdf', 'application/pdf'],
        ['out/summary.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
      ]);
      await readByOthers(session, orders.length, revenue);
    },
  },
];

async function readByOthers(session: Session, count: number, revenue: Record<string, number>): Promise<void> {
  const total = Object.values(revenue).reduce((sum, cents) => sum + cents, 0);
  const sheet = sheetOf(await session.files.read('out/summary.xlsx'));
  expect(sheet[0]?.slice(0, 2)).toEqual(['region', 'revenue']);
  expect(
    Object.fromEntries(sheet.slice(1).map(([region, euros]) => [region, Math.round(Number(euros) * 100)])),
  ).toEqual(revenue);

  const rows = await parquetRows(await session.files.read('out/orders.parquet'));
  expect(rows).toHaveLength(count);
  expect(rows.reduce((sum, row) => sum + Number(row.cents), 0)).toBe(total);
  expect([...new Set(rows.map(({ region }) => String(region)))].sort()).toEqual([...REGIONS].sort());
  const arrow =
    'import pyarrow.compute as pc, pyarrow.parquet as pq\nint(pc.sum(pq.read_table("out/orders.parquet")["cents"]).as_py())';
  expect((await step(session, arrow)).value?.text).toBe(String(total));

  const text = await pdfText(await session.files.read('out/report.pdf'));
  expect(text).toContain('Revenue by region');
  for (const region of REGIONS) expect(text).toContain(`${region}: ${((revenue[region] ?? 0) / 100).toFixed(2)}`);

  expect(pictureOf(await session.files.read('out/chart.png'))).toMatchObject({ width: 640, height: 480 });
}

const CLEAN = `
orders = orders.drop_duplicates().copy()
orders["region"] = orders["region"].str.strip().str.capitalize()
orders["day"] = pd.to_datetime(orders["day"])
orders["cents"] = (orders["price"].fillna(0) * 100).round().astype("int64") * orders["quantity"]
assert len(orders) == 50_000 and orders.region.nunique() == 4
`;

const GROUP = `
import json
revenue = orders.groupby("region")["cents"].sum()
monthly = orders.groupby([orders.day.dt.month, "region"])["cents"].sum().unstack()
assert monthly.shape == (12, 4) and int(monthly.to_numpy().sum()) == int(revenue.sum())
print(json.dumps({name: int(cents) for name, cents in revenue.items()}))
`;

const PLOT = `
import matplotlib.pyplot as plt
ax = (monthly / 100).plot(title="Revenue by month")
ax.set_ylabel("euros");
`;

const WRITE = `
import os
os.makedirs("out")
summary = (revenue / 100).rename("revenue").reset_index()
summary.to_excel("out/summary.xlsx", index=False)
orders.to_parquet("out/orders.parquet")

figure, axes = plt.subplots(figsize=(6.4, 4.8))
axes.bar(summary.region, summary.revenue)
figure.savefig("out/chart.png", dpi=100)
plt.close(figure)

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas
page = canvas.Canvas("out/report.pdf", pagesize=A4)
page.drawString(72, 780, "Revenue by region")
for number, (name, euros) in enumerate(zip(summary.region, summary.revenue)):
    page.drawString(72, 750 - 20 * number, f"{name}: {euros:.2f}")
page.drawImage("out/chart.png", 72, 300, width=400, height=300)
page.save()
`;

async function step(session: Session, code: string): Promise<ExecutionResult> {
  const result = await session.run(code, { timeoutMs: 60_000 });
  const { outcome } = result;
  expect(outcome, outcome.kind === 'raised' ? outcome.traceback.join('\n') : result.stderr).toEqual({ kind: 'ok' });
  expect(result.stderr).toBe('');
  return result;
}

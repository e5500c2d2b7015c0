import { createRandom } from './random.ts';

/** Fifty thousand orders as a shop might export them, dirt and all: the same ones every time. */
export interface Order {
  readonly id: number;
  readonly day: string;
  readonly region: string;
  readonly quantity: number;
  /** In cents. Missing where the export lost it. */
  readonly price: number | undefined;
}

export const REGIONS = ['North', 'South', 'East', 'West'] as const;

export function makeOrders(count: number): Order[] {
  const random = createRandom(20_261_115);
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    day: new Date(Date.UTC(2025, 0, 1 + random(365))).toISOString().slice(0, 10),
    region: REGIONS[random(4)] as string,
    quantity: 1 + random(9),
    price: random(100) === 0 ? undefined : 100 + random(9_900),
  }));
}

/** Regions in any spelling, a hundred orders twice, prices missing. */
export function ordersCsv(orders: readonly Order[]): string {
  const lines = orders.map(({ id, day, region, quantity, price }) => {
    const spelt = id % 7 === 0 ? ` ${region.toLowerCase()}` : id % 11 === 0 ? region.toUpperCase() : region;
    return `${id},${day},${spelt},${quantity},${price === undefined ? '' : (price / 100).toFixed(2)}`;
  });
  return ['order,day,region,quantity,price', ...lines, ...lines.slice(0, 100), ''].join('\n');
}

/** Revenue of each region in cents, reckoned here and not in any sandbox. */
export function revenueByRegion(orders: readonly Order[]): Record<string, number> {
  const revenue = Object.fromEntries(REGIONS.map((region) => [region, 0]));
  for (const { region, quantity, price = 0 } of orders) revenue[region] = (revenue[region] ?? 0) + quantity * price;
  return revenue;
}

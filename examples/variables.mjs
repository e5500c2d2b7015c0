// Give a session data, look at its variables page by page, and complete code from what lives in it.
import { openHotcell } from 'hotcell';

const hotcell = await openHotcell();
try {
  const session = await hotcell.open();
  const csv = 'city,inhabitants\nBonn,335975\nKöln,1084831\nAachen,249070\n';
  await session.variables.set('cities', csv, { as: 'csv' });

  const { variables } = await session.run(
    'big = cities[cities.inhabitants > 300_000]\ntotal = int(big.inhabitants.sum())',
  );
  console.log(`added: ${variables.added.join(', ')}`);

  for (const { name, type, summary } of (await session.variables.list()).variables) {
    console.log(`${name}: ${type}, ${summary}`);
  }

  const { page } = await session.variables.get('cities', { offset: 1, limit: 2 });
  for (const row of page.rows) console.log(row.join(': '));
  console.log((await session.variables.get('total / len(big)')).summary);

  const { matches } = await session.complete('cities["in');
  console.log(`cities["in → ${matches.map(({ text }) => text).join(', ')}`);
} finally {
  await hotcell.close();
}

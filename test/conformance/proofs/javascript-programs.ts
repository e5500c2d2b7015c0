import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Session } from '../../../src/index.ts';
import { packageRoot } from '../../../src/lib/package-root.ts';
import type { Requirement } from '../context.ts';

/** Real programs: each reads a file of the workspace, uses the standard library and a package, writes an artifact, fails once and goes on. */
export const javascriptProgramRequirements: readonly Requirement[] = [
  {
    id: 'javascript:program',
    tag: 'guest',
    title: 'a program in JavaScript summarises a log with a package of the workspace',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await installPackage(session, 'mime');
      await session.files.write('access.log', ACCESS_LOG);
      const options = { language: 'javascript', filename: 'summary.js' };
      const first = await session.run(
        `import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import mime from 'mime';

async function readLog(path) {
  const totals = new Map();
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const [, file, bytes] = line.split(' ');
    const type = mime.getType(file).split('/')[0];
    totals.set(type, (totals.get(type) ?? 0) + Number(bytes));
  }
  return totals;
}
const totals = await readLog('access.log');
totals`,
        options,
      );
      expect(first.outcome).toMatchObject({ kind: 'raised', name: 'TypeError' });
      const text = first.outcome.kind === 'raised' ? first.outcome.traceback.join('\n') : '';
      expect(text).toContain("summary.js:9\n    const type = mime.getType(file).split('/')[0];");
      expect(text).toContain('Cannot read properties of null');
      const second = await session.run(
        `import { writeFile } from 'node:fs/promises';
const typeOf = (file) => mime.getType(file)?.split('/')[0] ?? 'unknown';
const totals = {};
for await (const line of createInterface({ input: createReadStream('access.log') })) {
  const [, file, bytes] = line.split(' ');
  totals[typeOf(file)] = (totals[typeOf(file)] ?? 0) + Number(bytes);
}
await writeFile('totals.json', JSON.stringify(totals, null, 2));
console.table(totals);
totals`,
        options,
      );
      expect(second.outcome).toEqual({ kind: 'ok' });
      expect(second.value?.text).toBe('{ image: 3000, text: 120, unknown: 7 }');
      expect(second.stdout).toContain('image');
      expect(second.artifacts.map(({ path }) => path)).toEqual(['totals.json']);
      expect(JSON.parse((await session.files.read('totals.json')).toString())).toEqual({
        image: 3000,
        text: 120,
        unknown: 7,
      });
    },
  },
  {
    id: 'typescript:program',
    tag: 'guest',
    title: 'a program in TypeScript checks an inventory with a package of the workspace',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await installPackage(session, 'lines-and-columns');
      await session.files.write('stock.json', STOCK);
      const options = { language: 'typescript', filename: 'stock.ts' };
      const first = await session.run(
        `import { readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { LinesAndColumns } from 'lines-and-columns';

enum Unit { Piece = 'piece', Gram = 'g' }
interface Article { readonly name: string; amount: number; unit: Unit }

function load<T>(path: string, check: (raw: any) => raw is T): T[] {
  const text: string = readFileSync(path, 'utf8');
  return (JSON.parse(text) as unknown[]).map((raw: any, index) => {
    if (check(raw)) return raw;
    const place = new LinesAndColumns(text).locationForIndex(text.indexOf(raw.name))!;
    throw new RangeError(\`article \${index} in line \${place.line + 1}: \${raw.amount} is no amount\`);
  });
}
const isArticle = (raw: any): raw is Article => Number.isFinite(raw.amount) && Object.values(Unit).includes(raw.unit);
const stock = load<Article>('stock.json', isArticle);`,
        options,
      );
      expect(first.outcome).toMatchObject({
        kind: 'raised',
        name: 'RangeError',
        message: 'article 1 in line 3: many is no amount',
      });
      expect(first.outcome.kind === 'raised' && first.outcome.traceback[0]).toBe('stock.ts:13');
      const second = await session.run(
        `const lenient = (raw: any): raw is Article => { raw.amount = Number.parseInt(raw.amount, 10) || 0; return true };
const mended: Article[] = load<Article>('stock.json', lenient);
const total = mended.filter(({ unit }) => unit === Unit.Gram).reduce((sum, { amount }) => sum + amount, 0);
writeFileSync('stock.sha256', createHash('sha256').update(JSON.stringify(mended)).digest('hex'));
\`\${mended.length} articles, \${total} \${Unit.Gram}\``,
        options,
      );
      expect([second.outcome, second.value?.text]).toEqual([{ kind: 'ok' }, "'3 articles, 750 g'"]);
      expect(second.artifacts).toMatchObject([{ path: 'stock.sha256', sizeBytes: 64 }]);
    },
  },
];

const ACCESS_LOG = 'GET /a.png 1000\nGET /b.html 120\nGET /c.nobodyknows 7\nGET /d.jpeg 2000\n';
const STOCK = `[
  { "name": "flour", "amount": 750, "unit": "g" },
  { "name": "eggs", "amount": "many", "unit": "piece" },
  { "name": "spoons", "amount": 4, "unit": "piece" }
]`;

/** A real package of this checkout's node_modules, written into the workspace as an installer would. */
async function installPackage(session: Session, name: string): Promise<void> {
  const folder = join(packageRoot(), 'node_modules', name);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const { parentPath, name: file } of files) {
    const path = join(parentPath, file);
    await session.files.write(join('node_modules', name, path.slice(folder.length + 1)), readFileSync(path));
  }
}

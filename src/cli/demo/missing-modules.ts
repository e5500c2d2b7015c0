import type { Session } from '../../main.ts';

/** The modules that the sandbox's Python cannot import. Asked inside, because every driver has a Python of its own. */
export async function missingModules(session: Session, names: readonly string[]): Promise<string[]> {
  const { stdout } = await session.run(
    `import importlib.util\nprint(*[n for n in ${JSON.stringify(names)} if importlib.util.find_spec(n) is None])`,
  );
  return stdout.split(/\s+/).filter((name) => names.includes(name));
}

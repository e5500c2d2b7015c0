import { inlineMetadata } from './inline-metadata.ts';

/** The packages that a program needs: those of `--with`, and those that a Python script names itself (PEP 723). */
export function wantedPackages(
  named: readonly string[] | undefined,
  program: { readonly code: string; readonly language: string } | undefined,
): string[] {
  const own = program?.language === 'python' ? inlineMetadata(program.code)?.dependencies : undefined;
  return [...(named ?? []).flatMap(splitRequirements), ...(own ?? [])];
}

/** Splits `httpx,rich>=13,<15,uvicorn[a,b]` at the commas between requirements: not at those within versions or brackets. */
export function splitRequirements(text: string): string[] {
  const parts: string[] = [];
  for (const piece of text.split(',')) {
    const last = parts.at(-1);
    const isInBrackets = last !== undefined && last.lastIndexOf('[') > last.lastIndexOf(']');
    const isVersion = /^\s*[<>=!~]/.test(piece);
    if (last !== undefined && (isInBrackets || isVersion)) parts[parts.length - 1] = `${last},${piece}`;
    else parts.push(piece);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

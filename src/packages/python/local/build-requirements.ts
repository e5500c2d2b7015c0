import * as z from 'zod';
import { HotcellError } from '../../../errors/hotcell-error.ts';
import { parsePythonRequirement } from '../../request/python-requirement.ts';
import { parseStrangersToml } from '../strangers-toml.ts';

const projectSchema = z.object({
  'build-system': z.object({ requires: z.array(z.string().max(500)).max(50).optional() }).optional(),
});

/** Far more than any project has. */
const MOST_CHARS = 131_072;

/** The build requirements of a project that names none (PEP 517). */
const LEGACY = ['setuptools>=61', 'wheel'];

/** The packages with which a folder is built, in canonical form. Throws `invalid_argument` if one is not a package of a registry. */
export function buildRequirements(pyproject: string | undefined): string[] {
  if (pyproject === undefined) return LEGACY;
  const parsed = projectSchema.safeParse(parseStrangersToml(pyproject, MOST_CHARS));
  if (!parsed.success) throw unreadable();
  const requires = parsed.data['build-system']?.requires ?? LEGACY;
  const wanted = requires.map((text) => parsePythonRequirement(text));
  if (wanted.some(({ kind }) => kind !== 'named')) throw unreadable();
  return wanted.map(({ text }) => text);
}

function unreadable(): HotcellError {
  return new HotcellError(
    'invalid_argument',
    'its pyproject.toml cannot be read, or is built with packages that are in no registry',
  );
}

import { docker } from './docker-cli.ts';

/** An image that `hotcell setup` has built. */
export interface OwnImage {
  readonly name: string;
  readonly id: string;
  /** Size as the engine states it, such as `1.64GB`. Images share layers. */
  readonly size: string;
}

const ANSWER_MS = 5_000;

/** The images that set-up has built, the newest first; undefined if no engine answers. */
export async function ownImages(): Promise<OwnImage[] | undefined> {
  const format = '{{.Repository}}:{{.Tag}} {{.ID}} {{.Size}}';
  const args = ['image', 'ls', ...OURS, '--format', format];
  const { exitCode, stdout } = await docker(args, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => NO_ANSWER);
  if (exitCode !== 0) return undefined;
  return stdout
    .split('\n')
    .map((line) => line.trim().split(' '))
    .flatMap(([name, id, size]) => (name && id && size ? [{ name, id, size }] : []));
}

const OURS = ['hotcell/python', 'hotcell/base'].flatMap((name) => ['--filter', `reference=${name}`]);
const NO_ANSWER = { exitCode: 1, stdout: '' };

import { HotcellError } from '../../errors/hotcell-error.ts';
import { quoted } from '../../lib/said-inside.ts';
import type { Step } from './builder.ts';

const MOST_WORDS = 3000;

/** The end of what an installer printed, for an error: in one line, in quotation marks. SECURITY: a build script may have printed it. */
export function wordsOf({ stderr, stdout }: Step): string {
  const text = (stderr.trim() || stdout.trim()).replace(/\p{C}/gu, (one) => (one === '\n' ? '\n' : ' '));
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return quoted(lines.join(' ').slice(-MOST_WORDS), MOST_WORDS);
}

export function conflict(step: Step): HotcellError {
  return new HotcellError('packages_conflict', `the packages cannot be resolved. The resolver said ${wordsOf(step)}`, {
    remedy: 'Change the names or versions, then install again.',
  });
}

export function failedStep(what: string, step: Step): HotcellError {
  return new HotcellError('install_failed', `${what}. The installer said ${wordsOf(step)}`, {
    remedy:
      'If a registry could not be reached, try again later. If a package failed to build, choose a version that comes as a wheel.',
  });
}

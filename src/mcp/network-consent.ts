import { HotcellError } from '../errors/hotcell-error.ts';
import { QuestionFirst } from './consent.ts';
import type { ToolCall } from './define-tool.ts';

/**
 * Does `work`, which may want more network than the operator allows: then the person at the client is asked, where that
 * is possible, and `work` is done with what the person granted when the call comes again. No connection waits meanwhile.
 */
export async function withNetworkConsent<T>(
  { consent }: Pick<ToolCall, 'consent'>,
  which: string,
  work: (granted: readonly string[] | undefined) => Promise<T>,
): Promise<T> {
  const answer = await consent.answer();
  if (answer === 'refused') throw refusedByPerson();
  try {
    return await work(answer);
  } catch (error) {
    const rules = answer === undefined ? grantableIn(error) : undefined;
    const question = rules === undefined ? undefined : await consent.question(rules, questionFor(which, rules));
    if (question === undefined) throw error;
    throw new QuestionFirst(question);
  }
}

/** Rules that a person can judge at once; they travel through the client, too. */
const MOST_ASKED = 20;

/** The rules that were denied and could be granted. A person cannot grant those that the operator denied by a rule. */
function grantableIn(error: unknown): readonly string[] | undefined {
  if (!(error instanceof HotcellError) || error.code !== 'network_denied') return undefined;
  const exceeds = error.data.exceeds as readonly string[];
  return error.data.grantable === true && exceeds.length <= MOST_ASKED ? exceeds : undefined;
}

function questionFor(which: string, rules: readonly string[]): string {
  return `The code in ${which} wants to connect to ${rules.map(targetText).join('; ')}. The configuration of Hotcell does not allow it. If you allow it, code in this session can send any of its data there.`;
}

function targetText(rule: string): string {
  if (rule === 'all') return 'every public host on the internet, all ports';
  if (rule === 'registries') return 'the package registries of this machine';
  return /:\d+$/.test(rule) ? rule : `${rule} (ports 80 and 443)`;
}

function refusedByPerson(): HotcellError {
  return new HotcellError('network_denied', 'the user did not allow it', {
    remedy: 'Do without it. Ask the user in your own words before you try again.',
  });
}

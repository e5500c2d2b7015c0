import type { CodeSandboxSettings } from '../../config/code-sandbox.ts';
import type { ProfileName } from '../../config/schema.ts';
import type { Tool } from '../define-tool.ts';
import { INSTRUCTIONS } from '../instructions.ts';
import { LARGEST_MESSAGE_BYTES } from '../stdio/message-lines.ts';
import { TOOLS } from '../tools/index.ts';
import { CODE_SANDBOX_INSTRUCTIONS, codeSandboxTools } from './code-sandbox.ts';

/** What a server offers: our own tools, or those of the systems that people come from, or several side by side. */
export interface Offer {
  readonly tools: readonly Tool[];
  readonly instructions: string;
  /** Where a tool takes files in one message that are larger than messages usually are. */
  readonly largestMessageBytes?: number;
  /** Files are given to nobody without a signed link or a token, not even on this machine. */
  readonly signedFilesOnly?: boolean;
}

export interface ProfileSettings {
  /** Asked for only where the profile is in use. */
  codeSandbox(): CodeSandboxSettings;
}

/** Made once for a server: schemas and tools are not made again for each request. */
export function offerOf(names: readonly ProfileName[], settings: ProfileSettings): Offer {
  const offers = [...new Set(names)].map((name) => PROFILES[name](settings));
  const largestMessageBytes = Math.max(...offers.map((offer) => offer.largestMessageBytes ?? 0));
  return {
    tools: offers.flatMap(({ tools }) => tools),
    instructions: offers.map(({ instructions }) => instructions).join('\n\n'),
    ...(largestMessageBytes === 0 ? {} : { largestMessageBytes }),
    signedFilesOnly: offers.some((offer) => offer.signedFilesOnly === true),
  };
}

const PROFILES: Readonly<Record<ProfileName, (settings: ProfileSettings) => Offer>> = {
  hotcell: () => ({ tools: TOOLS, instructions: INSTRUCTIONS }),
  'code-sandbox': ({ codeSandbox }) => {
    const settings = codeSandbox();
    return {
      tools: codeSandboxTools(settings),
      instructions: CODE_SANDBOX_INSTRUCTIONS,
      largestMessageBytes: uploadMessageBytes(settings),
      signedFilesOnly: true,
    };
  },
};

/** The largest upload as base64, with room to be told of one that is somewhat too large; and never less than usual. */
function uploadMessageBytes({ maxUploadBytes }: CodeSandboxSettings): number {
  return Math.max(LARGEST_MESSAGE_BYTES, Math.ceil((maxUploadBytes * 4) / 3) + ROOM_BYTES);
}

const ROOM_BYTES = 16 * 1_048_576;

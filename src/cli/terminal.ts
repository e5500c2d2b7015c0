/** What a terminal says of itself, by the names that all programs go by. Options of ours are in `config/`. */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ColouredStream {
  readonly isTTY?: boolean;
  hasColors?(): boolean;
}

/** Whether to colour what goes to this stream: FORCE_COLOR says so, NO_COLOR and TERM=dumb say no, and a terminal that has colours decides otherwise. */
export function wantsColours(stream: ColouredStream, env: Environment = process.env): boolean {
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  if (env.NO_COLOR || isDumb(env)) return false;
  return stream.isTTY === true && stream.hasColors?.() === true;
}

/** It can only print, one line after the other: Emacs' shell, some logs of build servers. */
export function isDumb(env: Environment = process.env): boolean {
  return env.TERM === 'dumb';
}

export type ImageProtocol = 'iterm' | 'kitty';

/** How pictures are shown in this terminal, where they can be. Inside tmux and screen, which pass neither on, they cannot. */
export function imageProtocol(env: Environment = process.env): ImageProtocol | undefined {
  if (env.TMUX || env.STY || isDumb(env)) return undefined;
  if (env.KITTY_WINDOW_ID || env.TERM === 'xterm-kitty' || env.TERM === 'xterm-ghostty') return 'kitty';
  const program = env.TERM_PROGRAM ?? '';
  if (['iTerm.app', 'WezTerm', 'mintty'].includes(program) || env.LC_TERMINAL === 'iTerm2') return 'iterm';
  return undefined;
}

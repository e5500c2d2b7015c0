/**
 * Takes the token out of the arguments that `ps` shows. SECURITY: every user of the machine can read them while the
 * program runs. They were visible until now, for some hundredths of a second: `HOTCELL_TOKEN` never is.
 */
export function hideToken(argv: readonly string[] = process.argv, show = showAs): void {
  const hidden = withoutToken(argv);
  if (hidden !== undefined) show(hidden);
}

/** The arguments without the value of `--token`; undefined if there is none. */
export function withoutToken(argv: readonly string[]): string | undefined {
  const end = argv.indexOf('--');
  const isFlag = (index: number) => end === -1 || index < end;
  const hidden = argv.map((word, index) => {
    if (isFlag(index) && word.startsWith('--token=')) return '--token=…';
    return index > 0 && isFlag(index) && argv[index - 1] === '--token' ? '…' : word;
  });
  return hidden.some((word, index) => word !== argv[index]) ? hidden.join(' ') : undefined;
}

function showAs(text: string): void {
  process.title = text;
}

import { createFoldedOutput, type FoldedOutput, newFoldingBudget } from '../lib/folded-output.ts';
import { createKeptTexts, type KeptText } from './kept-texts.ts';
import type { OutputPart } from './result.ts';

type StreamName = 'stdout' | 'stderr';

/**
 * The output of one execution in the order in which it came. Each stream is bounded as in the result: `headBytes` of
 * its beginning, `tailBytes` of its end.
 */
export interface OutputOrder {
  /** Adds printed bytes. `whole` is everything that the stream printed so far, these bytes included. */
  print(name: StreamName, body: Buffer, whole: FoldedOutput): void;
  /** Adds the display with this index. */
  show(index: number): void;
  clear(): void;
  /** The parts; undefined if one text, or displays alone, are all there is: then there is no order to tell. */
  parts(): readonly OutputPart[] | undefined;
}

type Entry =
  | { readonly kind: StreamName; readonly text: KeptText }
  | { readonly kind: 'display'; readonly index: number };

const CARRIAGE_RETURN = 0x0d;

export function createOutputOrder(limits: { readonly headBytes: number; readonly tailBytes: number }): OutputOrder {
  const streams = { stdout: createKeptTexts(limits), stderr: createKeptTexts(limits) };
  const budgets = { stdout: newFoldingBudget(), stderr: newFoldingBudget() };
  /** A set keeps its order, and forgets a dropped text at once. */
  const entries = new Set<Entry>();
  const entryOf = new Map<KeptText, Entry>();
  const begun = new Set<StreamName>();
  let open: { readonly name: StreamName; readonly output: FoldedOutput; readonly isWhole: boolean } | undefined;

  function forget(dropped: readonly KeptText[]): void {
    for (const text of dropped) {
      const entry = entryOf.get(text);
      if (entry !== undefined) entries.delete(entry);
      entryOf.delete(text);
    }
  }

  function closeText(): void {
    if (open === undefined) return;
    const { name, output } = open;
    open = undefined;
    const { added, dropped } = streams[name].add(output.ends());
    for (const text of added) {
      const entry: Entry = { kind: name, text };
      entries.add(entry);
      entryOf.set(text, entry);
    }
    forget(dropped);
  }

  function allParts(): OutputPart[] {
    const closed = [...entries].map((entry) =>
      entry.kind === 'display' ? entry : { kind: entry.kind, text: streams[entry.kind].read(entry.text) },
    );
    return joined(open === undefined ? closed : [...closed, { kind: open.name, text: open.output.text() }]);
  }

  return {
    print(name, body, whole) {
      if (body.length === 0) return;
      if (open?.name !== name) {
        closeText();
        // A progress bar writes `\r` and its next state: of an unfinished line, only the last state is kept.
        if (body[0] === CARRIAGE_RETURN) forget(streams[name].dropUnfinishedLine());
        // The first text of a stream is all of it, and is folded once.
        const isWhole = !begun.has(name);
        open = { name, output: isWhole ? whole : createFoldedOutput(limits, budgets[name]), isWhole };
        begun.add(name);
      }
      if (!open.isWhole) open.output.push(body);
    },
    show(index) {
      closeText();
      entries.add({ kind: 'display', index });
    },
    clear() {
      for (const texts of Object.values(streams)) texts.clear();
      for (const list of [entries, entryOf, begun]) list.clear();
      open = undefined;
    },
    parts() {
      const parts = allParts();
      return parts.length > 1 && parts.some(({ kind }) => kind !== 'display') ? parts : undefined;
    },
  };
}

/** Joins texts of the same stream with nothing between them. SECURITY: at once, because a rope takes many times its length. */
function joined(parts: readonly OutputPart[]): OutputPart[] {
  const found: OutputPart[] = [];
  let texts: string[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.kind === 'display') {
      found.push(part);
      continue;
    }
    texts.push(part.text);
    if (parts[index + 1]?.kind === part.kind) continue;
    found.push({ kind: part.kind, text: texts.length === 1 ? part.text : texts.join('') });
    texts = [];
  }
  return found;
}

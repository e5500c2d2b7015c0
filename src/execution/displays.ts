import type { DisplayPiece } from '../guest/messages.ts';
import { createGatheredBytes, type GatheredBytes } from '../lib/gathered-bytes.ts';
import { memoryCost } from '../lib/memory-cost.ts';
import type { Display } from './result.ts';

/** SECURITY: empty displays and representations cost memory too, in the result and in its readers. */
const MAX_DISPLAYS = 1000;
const MAX_REPRESENTATIONS = 4000;

/** A display with all its pieces. */
export interface WholeDisplay extends Display {
  readonly update: boolean;
  /** Whether it is the rich output of the last expression. */
  readonly isValue: boolean;
}

/**
 * The displays of one execution, assembled from the pieces that the guest sends. All places together take at most
 * `limitBytes` of memory.
 */
export interface DisplayTable {
  /** Takes one piece. Returns the display if this was its last piece and it fits. */
  receive(piece: DisplayPiece, body: Buffer): WholeDisplay | undefined;
  shown(): readonly Display[];
  /** Number of displays in the result. */
  count(): number;
  /** Number of displays and updates that did not fit. */
  dropped(): number;
  clear(): void;
}

export function createDisplayTable(limitBytes: number): DisplayTable {
  let places: Place[] = [];
  let byId = new Map<string, Namesakes>();
  let held = NOTHING;
  let valueSize = NOTHING;
  let dropped = 0;
  let pending: { index: number; parts: Part[]; bytes: number } | undefined;

  function receive(piece: DisplayPiece, body: Buffer): WholeDisplay | undefined {
    // An earlier display is incomplete: its last pieces were lost while the host was disconnected.
    if (pending?.index !== piece.index) pending = { index: piece.index, parts: [], bytes: 0 };
    pending.bytes += body.length;
    const isFitting = held.bytes + pending.bytes <= limitBytes;
    if (isFitting) addTo(pending.parts, piece, body);
    else pending.parts = [];
    if (!piece.end) return undefined;
    const { parts } = pending;
    pending = undefined;
    const whole = isFitting ? assemble(piece, parts) : undefined;
    if (whole !== undefined && keep(whole)) return whole;
    dropped += 1;
    return undefined;
  }

  function keep({ isValue, update, ...display }: WholeDisplay): boolean {
    const size = sizeOf(display);
    if (isValue) {
      if (!take(size, valueSize)) return false;
      valueSize = size;
      return true;
    }
    const namesakes = display.id === undefined ? undefined : byId.get(display.id);
    if (!update || namesakes === undefined) return add(display, size);
    // SECURITY: one id may name a thousand places, and most readers of the result copy or decode each place. So an
    // update counts once per place.
    const shown = times(size, namesakes.places.length);
    if (!take(shown, namesakes.size)) return false;
    namesakes.size = shown;
    for (const place of namesakes.places) place.display = display;
    return true;
  }

  function add(display: Display, size: Size): boolean {
    if (places.length >= MAX_DISPLAYS || !take(size, NOTHING)) return false;
    const place = { display };
    places.push(place);
    if (display.id === undefined) return true;
    const namesakes = byId.get(display.id) ?? { places: [], size: NOTHING };
    namesakes.places.push(place);
    namesakes.size = exchanged(namesakes.size, size, NOTHING);
    byId.set(display.id, namesakes);
    return true;
  }

  /** Counts `coming` in place of `going`. Returns false and counts nothing if it does not fit. */
  function take(coming: Size, going: Size): boolean {
    const next = exchanged(held, coming, going);
    if (next.bytes > limitBytes || next.representations > MAX_REPRESENTATIONS) return false;
    held = next;
    return true;
  }

  return {
    receive,
    shown: () => places.map(({ display }) => display),
    count: () => places.length,
    dropped: () => dropped,
    clear: () => {
      places = [];
      byId = new Map();
      held = valueSize;
    },
  };
}

/** One position in the result that shows a display. */
interface Place {
  display: Display;
}

/**
 * The places of one id. SECURITY: looked up by id, because a guest may send a thousand displays and then an endless
 * series of updates.
 */
interface Namesakes {
  readonly places: Place[];
  /** Size of all places together. */
  size: Size;
}

interface Size {
  readonly bytes: number;
  readonly representations: number;
}

const NOTHING: Size = { bytes: 0, representations: 0 };

function sizeOf(display: Display): Size {
  return { bytes: memoryCost(display), representations: display.representations.length };
}

function times({ bytes, representations }: Size, count: number): Size {
  return { bytes: bytes * count, representations: representations * count };
}

function exchanged(all: Size, coming: Size, going: Size): Size {
  return {
    bytes: all.bytes + coming.bytes - going.bytes,
    representations: all.representations + coming.representations - going.representations,
  };
}

function assemble({ id, update, value }: DisplayPiece, parts: readonly Part[]): WholeDisplay {
  return {
    ...(id === undefined ? {} : { id }),
    representations: parts.map(({ mediaType, pieces }) => ({ mediaType, data: joined(pieces.take()) })),
    update: update === true,
    isValue: value === true,
  };
}

/** SECURITY: allocates outside Node's pool, where a few bytes keep a slab of 8 kB alive. */
function joined(pieces: readonly Buffer[]): Buffer {
  const data = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let filled = 0;
  for (const piece of pieces) filled += piece.copy(data, filled);
  return data;
}

interface Part {
  readonly part: number;
  readonly mediaType: string;
  readonly pieces: GatheredBytes;
}

function addTo(parts: Part[], { part, mediaType }: DisplayPiece, body: Buffer): void {
  let begun = parts.find((known) => known.part === part);
  if (begun === undefined) {
    begun = { part, mediaType, pieces: createGatheredBytes() };
    parts.push(begun);
  }
  begun.pieces.push(body);
}

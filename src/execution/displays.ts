import type { DisplayPiece } from '../guest/messages.ts';
import type { Display } from './result.ts';

/** Empty pictures cost memory too, and so does each piece of one. */
const MAX_DISPLAYS = 1000;
const PIECE_COST_BYTES = 128;

/** A display whose last piece has come. */
export interface WholeDisplay extends Display {
  readonly update: boolean;
  /** Shows the value of the last expression. */
  readonly isValue: boolean;
}

/** The displays of one execution, put together from the pieces that the guest sends. All places together show at most `limitBytes`, whatever comes. */
export interface DisplayTable {
  /** The display, when this piece was its last and there was room for it. */
  receive(piece: DisplayPiece, body: Buffer): WholeDisplay | undefined;
  shown(): readonly Display[];
  /** Displays and updates that there was no room for. */
  dropped(): number;
  clear(): void;
}

export function createDisplayTable(limitBytes: number): DisplayTable {
  let places: Place[] = [];
  let byId = new Map<string, Namesakes>();
  let heldBytes = 0;
  let valueBytes = 0;
  let dropped = 0;
  let pending: { index: number; parts: Part[]; cost: number } | undefined;

  function receive(piece: DisplayPiece, body: Buffer): WholeDisplay | undefined {
    // The rest of an earlier one was lost while nobody was connected.
    if (pending?.index !== piece.index) pending = { index: piece.index, parts: [], cost: 0 };
    pending.cost += body.length + PIECE_COST_BYTES;
    const fits = heldBytes + pending.cost <= limitBytes;
    if (fits) addTo(pending.parts, piece, body);
    else pending.parts = [];
    if (!piece.end) return undefined;
    const { parts } = pending;
    pending = undefined;
    const whole = fits ? assemble(piece, parts) : undefined;
    if (whole !== undefined && keep(whole)) return whole;
    dropped += 1;
    return undefined;
  }

  function keep({ isValue, update, ...display }: WholeDisplay): boolean {
    const bytes = sizeOf(display);
    if (isValue) {
      heldBytes += bytes - valueBytes;
      valueBytes = bytes;
      return true;
    }
    const namesakes = display.id === undefined ? undefined : byId.get(display.id);
    if (!update || namesakes === undefined) return add(display, bytes);
    // SECURITY: one id may name a thousand places, and most readers of the result copy or decode each of them: an update counts once for each place.
    const shownBytes = bytes * namesakes.places.length;
    if (heldBytes - namesakes.bytes + shownBytes > limitBytes) return false;
    heldBytes += shownBytes - namesakes.bytes;
    namesakes.bytes = shownBytes;
    for (const place of namesakes.places) place.display = display;
    return true;
  }

  function add(display: Display, bytes: number): boolean {
    if (places.length >= MAX_DISPLAYS) return false;
    const place = { display };
    places.push(place);
    heldBytes += bytes;
    if (display.id === undefined) return true;
    const namesakes = byId.get(display.id) ?? { places: [], bytes: 0 };
    namesakes.places.push(place);
    namesakes.bytes += bytes;
    byId.set(display.id, namesakes);
    return true;
  }

  return {
    receive,
    shown: () => places.map(({ display }) => display),
    dropped: () => dropped,
    clear: () => {
      places = [];
      byId = new Map();
      heldBytes = valueBytes;
    },
  };
}

/** Where a display is shown. */
interface Place {
  display: Display;
}

/** The places of one id. SECURITY: found by it, because a guest may send a thousand displays and then updates without end. */
interface Namesakes {
  readonly places: Place[];
  /** Bytes that all of the places show together. */
  bytes: number;
}

function assemble({ id, update, value }: DisplayPiece, parts: readonly Part[]): WholeDisplay {
  return {
    ...(id === undefined ? {} : { id }),
    representations: parts.map(({ mediaType, pieces }) => ({ mediaType, data: Buffer.concat(pieces) })),
    update: update === true,
    isValue: value === true,
  };
}

interface Part {
  readonly part: number;
  readonly mediaType: string;
  readonly pieces: Buffer[];
}

function addTo(parts: Part[], { part, mediaType }: DisplayPiece, body: Buffer): void {
  const begun = parts.find((known) => known.part === part);
  // A copy: the frame is a view of what was read, which it would keep whole.
  if (begun === undefined) parts.push({ part, mediaType, pieces: [Buffer.from(body)] });
  else begun.pieces.push(Buffer.from(body));
}

function sizeOf({ representations }: Display): number {
  return representations.reduce((sum, { data }) => sum + data.length, 0);
}

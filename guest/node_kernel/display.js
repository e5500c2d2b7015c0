import util from 'node:util';

const { inspect } = util;
const { entries, getPrototypeOf } = Object;
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const MEDIA_TYPE = /^[a-z]+\/[a-z0-9][a-z0-9.+_-]*$/i;
const MAX_PARTS = 16;
const OWN_BUNDLE = Symbol.for('Jupyter.display');

/**
 * The global `display`: a bundle `{ 'text/html': '…', 'image/png': bytes }`, bytes with a media type, or any value as text. It comes back when what was
 * printed before has been taken, so that it stands in its place.
 */
export function openDisplay(link, output) {
  return function display(value, options = {}) {
    const { mediaType, id, update } = typeof options === 'string' ? { mediaType: options } : options;
    const parts = partsOf(value, mediaType);
    output.drain(); // what was printed before comes before,
    link.send({ kind: 'display', parts, id: id === undefined ? undefined : `${id}`, update: update === true });
    output.drain(); // and what a child prints afterwards comes after
  };
}

/** How a value shows itself beyond its text: what its `Symbol.for('Jupyter.display')` gives, or nothing. */
export function ownParts(value) {
  if (value === null || typeof value !== 'object' || typeof value[OWN_BUNDLE] !== 'function') return [];
  return bundleParts(value[OWN_BUNDLE]());
}

function partsOf(value, mediaType) {
  if (mediaType !== undefined) return [{ mediaType: checkedType(mediaType), data: bytesOf(value) }];
  if (isBundle(value)) return bundleParts(value);
  const own = ownParts(value);
  if (own.length > 0) return own;
  const text = typeof value === 'string' ? value : inspect(value, { depth: 4, colors: false });
  return [{ mediaType: 'text/plain', data: bytesOf(text) }];
}

function isBundle(value) {
  if (value === null || typeof value !== 'object') return false;
  const prototype = getPrototypeOf(value);
  if (prototype !== null && getPrototypeOf(prototype) !== null) return false;
  const pairs = entries(value);
  return pairs.length > 0 && pairs.every(([name]) => MEDIA_TYPE.test(name));
}

function bundleParts(bundle) {
  return entries(bundle)
    .slice(0, MAX_PARTS)
    .map(([mediaType, data]) => ({ mediaType: checkedType(mediaType), data: bytesOf(data) }));
}

function checkedType(mediaType) {
  if (!MEDIA_TYPE.test(mediaType) || mediaType.length > 100) {
    throw new TypeError(`display: ${inspect(mediaType)} is no media type, as 'image/png' is one`);
  }
  return mediaType.toLowerCase();
}

/** A copy of its own: what is posted to the link thread would otherwise take the whole pool that a Buffer lies in. */
function bytesOf(data) {
  if (typeof data === 'string') return encode(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  if (data instanceof ArrayBuffer) return new Uint8Array(data).slice();
  return encode(JSON.stringify(data) ?? `${data}`);
}

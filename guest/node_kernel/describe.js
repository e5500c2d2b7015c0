/** What the user's values and errors look like. All of it may run code of the user's, within the limits of the execution. */
import util from 'node:util';
import { ownParts } from './display.js';

const { inspect, types } = util;
const NativeError = globalThis.Error;
const slice = Function.prototype.call.bind(String.prototype.slice);
const MAX_VALUE_CHARS = 65_536;
const VALUE = { depth: 4, colors: false, maxArrayLength: 100, maxStringLength: MAX_VALUE_CHARS, breakLength: 120 };
const ERROR = { depth: 4, colors: false, maxArrayLength: 20, maxStringLength: 4_096, breakLength: 120 };

/** The value of the last expression, bounded. */
export function show(value) {
  if (typeof value === 'string' && value.length > MAX_VALUE_CHARS) {
    return { text: inspect(slice(value, 0, MAX_VALUE_CHARS), VALUE), truncated: true, parts: [] };
  }
  const text = inspect(value, VALUE);
  return { text: slice(text, 0, MAX_VALUE_CHARS), truncated: text.length > MAX_VALUE_CHARS, parts: ownParts(value) };
}

/** An exception as an outcome; the link thread makes its traceback from the text. */
export function describe(error) {
  const isError = types.isNativeError(error) || error instanceof NativeError;
  const text = textOf(error);
  return {
    kind: 'raised',
    name: isError ? propertyText(error, 'name', 'Error') : 'Uncaught',
    message: isError ? propertyText(error, 'message', '') : text,
    text: isError ? text : `Uncaught ${text}`,
  };
}

function propertyText(error, name, otherwise) {
  try {
    const value = error[name];
    return typeof value === 'string' ? slice(value, 0, 65_536) : otherwise;
  } catch {
    return otherwise;
  }
}

function textOf(error) {
  try {
    return slice(inspect(error, ERROR), 0, 262_144);
  } catch {
    return '(its text could not be made)';
  }
}

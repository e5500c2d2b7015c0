/**
 * Turns what V8's console does not take into what it does: types are stripped, and `import` and `export` at the top become their dynamic kin. Lines stay
 * where they are. Loaded by the link thread when first needed; the text it parses is hostile, and hurts this kernel only.
 */
import { stripTypeScriptTypes } from 'node:module';
import { transform } from 'sucrase/dist/esm/index.js';
import { parse } from 'sucrase/dist/esm/parser/index.js';
import { rewriteModuleSyntax } from './module-syntax.js';

/** `{code}`, or `{failure}`: the outcome of a program that has no meaning. */
export function prepare(source, isTypeScript) {
  let code = source;
  if (isTypeScript) {
    try {
      code = withoutTypes(source);
    } catch (error) {
      return { code: source, failure: syntaxError(error) };
    }
  }
  return { code: rewriteModuleSyntax(code, isTypeScript) };
}

function withoutTypes(source) {
  if (/\b(?:namespace|module)\b/.test(source) && declaresNamespace(source)) return withNamespaces(source);
  // In a session a name may be used by the next piece of code, so no import is taken for one of types only.
  return transform(source, { transforms: ['typescript'], keepUnusedImports: true, disableESTransforms: true }).code;
}

/** `namespace N {` without `declare` makes a value, which sucrase would leave out without a word. */
function declaresNamespace(source) {
  const { tokens } = parse(source, false, true, false);
  const text = (index) => (tokens[index] === undefined ? '' : source.slice(tokens[index].start, tokens[index].end));
  return tokens.some(
    (_, index) =>
      /^(?:namespace|module)$/.test(text(index)) &&
      /^[A-Za-z_$]/.test(text(index + 1)) &&
      /^[{.]$/.test(text(index + 2)) &&
      !/^(?:declare|\.)$/.test(text(index - 1)),
  );
}

/** Only Node's own transpiler knows them. Its lines may move. */
function withNamespaces(source) {
  if (stripTypeScriptTypes === undefined) {
    throw new SyntaxError(`TypeScript's namespaces need Node 22.13 or newer; this is ${process.version}`);
  }
  return stripTypeScriptTypes(source, { mode: 'transform' });
}

function syntaxError(error) {
  const message = String(error?.message ?? error).replace(/ \(\d+:\d+\)$/, '');
  const place = error?.loc === undefined ? undefined : { line: error.loc.line - 1, column: error.loc.column };
  return { kind: 'raised', name: 'SyntaxError', message, text: `SyntaxError: ${message}`, place, unparsed: true };
}

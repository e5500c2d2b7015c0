/** Syntax that models write and that neither V8 nor the transpiler takes, with what to write instead. Asked only about code that did not parse. */
const UNSUPPORTED = [
  [
    /^[ \t]*@[A-Za-z_$][\w$.]*(?:\(.*)?(?:$|[ \t]+[A-Za-z_$#])/,
    'Decorators are not supported here: V8 has none. Call the function yourself, as in `A = dec(A) ?? A`.',
  ],
  [
    /(?:^|[{;])[ \t]*(?:(?:static|private|public|protected)[ \t]+)*accessor[ \t]+[#A-Za-z_$]/,
    'The keyword `accessor` is not supported here. Write a getter and a setter.',
  ],
  [
    /(?:^|[=(,?:[{>]|\breturn)[ \t]*(?:<>|<[A-Za-z][\w.-]*(?:[ \t]+[^<>]*)?\/?>)/,
    'JSX is not supported here: there is no transpiler for it in this sandbox. Call the function that makes elements, as in `React.createElement("div")`.',
  ],
];
/** Lines are looked at one by one and not to their end, so that the time is linear in the source. */
const MOST_CHARS = 100_000;
const LINE_CHARS = 200;

export function unsupportedHint(source) {
  const lines = source.slice(0, MOST_CHARS).split('\n', 2_000);
  const found = UNSUPPORTED.find(([form]) => lines.some((line) => form.test(line.slice(0, LINE_CHARS))));
  return found?.[1];
}

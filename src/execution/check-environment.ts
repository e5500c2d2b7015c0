import { HotcellError } from '../errors/hotcell-error.ts';

export const MOST_VALUE_CHARS = 65_536;
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** Maximum of the variables of a run of code, as JSON: they are in the head of a frame. */
const MOST_RUN_BYTES = 32_768;

/** Checks environment variables. Throws `invalid_argument` with the name of the variable. */
export function checkEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(environment)) {
    if (!VARIABLE_NAME.test(name)) {
      throw invalid(
        `environment: ${JSON.stringify(name.slice(0, 100))} is not the name of a variable`,
        'Use letters, digits and _.',
      );
    }
    if (value.includes('\0')) {
      throw invalid(
        `environment.${name}: contains a NUL character`,
        'Remove it, or write these bytes to a file with write_file.',
      );
    }
    if (value.length > MOST_VALUE_CHARS) {
      throw invalid(`environment.${name}: has more than ${MOST_VALUE_CHARS} characters`, 'Put it into a file.');
    }
  }
}

/** The variables of a run of code, checked and well-formed; undefined if there are none. */
export function runEnvironment(
  environment: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  if (environment === undefined || Object.keys(environment).length === 0) return undefined;
  checkEnvironment(environment);
  const checked = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value.toWellFormed()]));
  if (Buffer.byteLength(JSON.stringify(checked)) > MOST_RUN_BYTES) {
    throw invalid(
      `environment: has more than ${MOST_RUN_BYTES} bytes`,
      'Put large values into a file of the workspace.',
    );
  }
  return checked;
}

function invalid(message: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', message, { remedy });
}

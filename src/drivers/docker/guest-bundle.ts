import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { packageRoot } from '../../lib/package-root.ts';

/** How the guest gets into a container: a command that any Python runs, and the bytes that it reads first. What is added to the command are arguments of the guest. */
export interface GuestBundle {
  readonly command: readonly string[];
  readonly bytes: Buffer;
}

let made: GuestBundle | undefined;

/** The guest of this installation. Read once in a process. */
export function guestBundle(): GuestBundle {
  const folder = join(packageRoot(), 'guest', 'hotcell_guest');
  made ??= bundle(guestSources(folder), guestData(folder));
  return made;
}

/** Module name → source, and the files beside them: name → content, deflated, in base64. */
export function bundle(
  sources: Readonly<Record<string, string>>,
  data: Readonly<Record<string, string>> = {},
): GuestBundle {
  const literal = (value: unknown) => JSON.stringify(JSON.stringify(value));
  const stage = `${IMPORTER}\nserve(${literal(sources)}, ${JSON.stringify(data)})\n`;
  const text = Buffer.from(stage);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return { command: ['python3', '-I', '-c', BOOTSTRAP], bytes: Buffer.concat([length, text]) };
}

function guestSources(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.py'));
  return Object.fromEntries(names.map((name) => [name.slice(0, -3), readFileSync(join(folder, name), 'utf8')]));
}

/** Programs of kernels that are not Python's. Most sessions need none: they stay as they are until one is asked for. */
function guestData(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.js'));
  return Object.fromEntries(
    names.map((name) => [name, deflateRawSync(readFileSync(join(folder, name))).toString('base64')]),
  );
}

/**
 * The container's command. It reads its descriptor without a buffer, because the first byte after the bundle belongs to the guest protocol, and runs
 * what it read. Syntax of Python 3.9.
 */
const BOOTSTRAP = `
import os
def take(count):
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            raise SystemExit("hotcell: the guest did not arrive whole")
        data += piece
    return data
exec(compile(take(int.from_bytes(take(4), "big")), "/hotcell_guest/bootstrap.py", "exec"))
`.trim();

/**
 * The bundle's own part: modules of \`hotcell_guest\` come from memory, under file names that lie in one folder, as \`shell.py\` expects. When
 * they can be imported it says so in one line, with what the driver must know of the inside; the channel begins after that line.
 */
const IMPORTER = `
import importlib.abc, importlib.util, json, os, sys

if sys.version_info < (3, 9):
    raise SystemExit("hotcell: the guest needs Python 3.9 or newer, and this is " + sys.version.split()[0])


class FromMemory(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the guest from the bundle; found again by forks, never by a new interpreter."""

    def __init__(self, sources, data):
        self._sources = sources
        self._data = data

    def find_spec(self, fullname, path=None, target=None):
        if self._module(fullname) not in self._sources:
            return None
        place = "/hotcell_guest/" + self._module(fullname) + ".py"
        spec = importlib.util.spec_from_loader(fullname, self, origin=place, is_package=self.is_package(fullname))
        spec.has_location = True
        return spec

    def is_package(self, fullname):
        return fullname == "hotcell_guest"

    def get_source(self, fullname):
        return self._sources[self._module(fullname)]

    def get_code(self, fullname):
        return compile(self.get_source(fullname), "/hotcell_guest/" + self._module(fullname) + ".py", "exec", dont_inherit=True)

    def get_data(self, path):
        import base64, zlib
        name = path.rpartition("/")[2]
        if name not in self._data:
            raise FileNotFoundError(2, "the guest came without " + name)
        return zlib.decompress(base64.b64decode(self._data[name]), -15)

    @staticmethod
    def _module(fullname):
        package, _, name = fullname.partition(".")
        return (name or "__init__") if package == "hotcell_guest" else None


def serve(sources, data):
    sys.meta_path.insert(0, FromMemory(json.loads(sources), data))
    from hotcell_guest.__main__ import main
    from hotcell_guest import sandbox  # what cannot be imported must fail before the line below
    uname = os.uname()
    ready = {"hotcell": 1, "path": os.environ.get("PATH", ""), "machine": uname.machine, "kernel": uname.release}
    os.write(1, json.dumps(ready).encode() + b"\\n")
    main(["sandbox", "--channel", "stdio", *sys.argv[1:]])
`.trim();

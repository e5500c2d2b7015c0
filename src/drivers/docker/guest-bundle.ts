import { deflateRawSync } from 'node:zlib';
import { type GuestFile, guestFiles } from '../../guest/guest-files.ts';

/** How the guest gets into a container: a command that any Python runs, and the bytes that it reads first. What is added to the command are arguments of the guest. */
export interface GuestBundle {
  readonly command: readonly string[];
  readonly bytes: Buffer;
}

let made: GuestBundle | undefined;

/** The guest of this installation. Read once in a process. */
export function guestBundle(): GuestBundle {
  made ??= bundle(guestFiles());
  return made;
}

export function bundle(files: readonly GuestFile[]): GuestBundle {
  const sources = Object.fromEntries(
    files.filter(({ path }) => path.endsWith('.py')).map(({ path, content }) => [path, content.toString('utf8')]),
  );
  // Programs of kernels that are not Python's. Most sessions need none: they stay as they are until one is asked for.
  const data = Object.fromEntries(
    files
      .filter(({ path }) => !path.endsWith('.py'))
      .map(({ path, content }) => [path, deflateRawSync(content).toString('base64')]),
  );
  const literal = (value: unknown) => JSON.stringify(JSON.stringify(value));
  const stage = `${IMPORTER}\nserve(${literal(sources)}, ${JSON.stringify(data)})\n`;
  const text = Buffer.from(stage);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return { command: ['python3', '-I', '-c', BOOTSTRAP], bytes: Buffer.concat([length, text]) };
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
 * The bundle's own part: modules of \`hotcell_guest\` come from memory, under file names below one folder, by which \`call_stack.py\` knows them. When
 * they can be imported it says so in one line, with what the driver must know of the inside; the channel begins after that line.
 */
const IMPORTER = `
import importlib.abc, importlib.util, json, os, sys

if sys.version_info < (3, 9):
    raise SystemExit("hotcell: the guest needs Python 3.9 or newer, and this is " + sys.version.split()[0])


ROOT = "/hotcell_guest/"


class FromMemory(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the guest from the bundle; found again by forks, never by a new interpreter."""

    def __init__(self, sources, data):
        self._sources = sources
        self._data = data

    def find_spec(self, fullname, path=None, target=None):
        place = self._place(fullname)
        if place is None:
            return None
        spec = importlib.util.spec_from_loader(fullname, self, origin=ROOT + place, is_package=self.is_package(fullname))
        spec.has_location = True
        return spec

    def is_package(self, fullname):
        return self._place(fullname).endswith("__init__.py")

    def get_source(self, fullname):
        return self._sources[self._place(fullname)]

    def get_code(self, fullname):
        return compile(self.get_source(fullname), ROOT + self._place(fullname), "exec", dont_inherit=True)

    def get_data(self, path):
        import base64, zlib
        name = path[len(ROOT):]
        if name not in self._data:
            raise FileNotFoundError(2, "the guest came without " + name)
        return zlib.decompress(base64.b64decode(self._data[name]), -15)

    def _place(self, fullname):
        package, *names = fullname.split(".")
        if package != "hotcell_guest":
            return None
        for place in ("/".join(names) + ".py", "/".join([*names, "__init__.py"])):
            if place in self._sources:
                return place
        return None


def serve(sources, data):
    sys.meta_path.insert(0, FromMemory(json.loads(sources), data))
    from hotcell_guest.__main__ import main
    from hotcell_guest.start import sandbox  # noqa: F401 - what cannot be imported must fail before the line below
    uname = os.uname()
    ready = {"hotcell": 1, "path": os.environ.get("PATH", ""), "machine": uname.machine, "kernel": uname.release}
    os.write(1, json.dumps(ready).encode() + b"\\n")
    main(["sandbox", "--channel", "stdio", *sys.argv[1:]])
`.trim();

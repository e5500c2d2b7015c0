import { expect } from 'vitest';
import type { Display, ExecutionResult, Representation } from '../../../src/index.ts';
import type { Requirement } from '../context.ts';

const NEEDS_PACKAGES = { bare: 'needs what the environment has; proved on every real driver' };

export const displayRequirements: readonly Requirement[] = [
  {
    id: 'display:bundle',
    tag: 'guest',
    title: 'what display() is given comes in all of its media types, the richest last, among what was printed',
    prove: async ({ session }) => {
      const order: string[] = [];
      const run = session.run(`
class Thing:
    def __repr__(self): return "a thing"
    def _repr_html_(self): return "<b>thing</b>"
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"application/vnd.vegalite.v5+json": {"mark": "bar"}}, {"ignored": True}
import os
for turn in range(20):
    print("before")
    display(Thing())
    os.system("echo after")`);
      for await (const event of run) order.push(event.kind === 'stdout' ? event.text : `[${event.kind}]`);
      const result = await ok(run);
      expect(order.join('')).toBe('before\n[display]after\n'.repeat(20));
      expect(result.displays.slice(0, 1).map(typesOf)).toEqual([
        ['text/plain', 'text/html', 'application/vnd.vegalite.v5+json'],
      ]);
      expect(textOf(result.displays[0], 'text/plain')).toBe('a thing');
      expect(textOf(result.displays[0], 'text/html')).toBe('<b>thing</b>');
      expect(JSON.parse(textOf(result.displays[0], 'application/vnd.vegalite.v5+json'))).toEqual({ mark: 'bar' });
    },
  },
  {
    id: 'display:order',
    tag: 'guest',
    title: 'the result has printed text and displays in the order in which they came, across both streams',
    prove: async ({ session }) => {
      const { order, stdout, stderr } = await ok(
        session.run(`
import os, sys, time
class Frame:
    def __repr__(self): return "a frame"
display(Frame()); print("x")
print("warning", file=sys.stderr)
time.sleep(0.3)  # a child writes to the other pipe by itself
os.system("echo from a child")
display(Frame())
sys.stderr.write("last")`),
      );
      expect(order).toEqual([
        { kind: 'display', index: 0 },
        { kind: 'stdout', text: 'x\n' },
        { kind: 'stderr', text: 'warning\n' },
        { kind: 'stdout', text: 'from a child\n' },
        { kind: 'display', index: 1 },
        { kind: 'stderr', text: 'last' },
      ]);
      expect({ stdout, stderr }).toEqual({ stdout: 'x\nfrom a child\n', stderr: 'warning\nlast' });
    },
  },
  {
    id: 'display:readable',
    tag: 'guest',
    title: 'the text of an object is what it says of itself; without that, its Markdown, LaTeX, JSON or HTML as text',
    exempt: NEEDS_PACKAGES,
    prove: async ({ session }) => {
      const shown = await ok(
        session.run(`
from IPython.display import HTML, JSON, Latex, Markdown, SVG
display(HTML("<h1>T</h1><table><tr><th>a</th></tr><tr><td>1 &lt; 2</td></tr></table>"), Markdown("*hi*"), Latex("$x^2$"))
display(JSON({"a": [1]}), SVG('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"></svg>'))`),
      );
      expect(shown.displays.map((display) => textOf(display, 'text/plain'))).toEqual([
        '# T\na\n-----\n1 < 2',
        '*hi*',
        '$x^2$',
        '{\n  "a": [\n    1\n  ]\n}',
        expect.stringContaining('[SVG image, 40 × 30'),
      ]);
      const values = `
class Pretty:
    def _repr_pretty_(self, printer, cycle): printer.text("pretty")
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None): return {"text/plain": "of the bundle"}
class Own:
    def _ipython_display_(self): print("own")
HTML("<b>bold</b>")`;
      expect((await ok(session.run(values))).value?.text).toBe('bold');
      expect((await ok(session.run('[Pretty(), 1]'))).value?.text).toBe('[pretty, 1]');
      expect((await ok(session.run('Bundle()'))).value?.text).toBe('of the bundle');
      expect(await ok(session.run('Own()'))).toMatchObject({ stdout: 'own\n' });
      expect((await ok(session.run('Own()'))).value).toBeUndefined();
    },
  },
  {
    id: 'display:beside-figure',
    tag: 'guest',
    title: 'return values of plotting functions are not shown beside their figure, and an empty figure is no picture',
    exempt: NEEDS_PACKAGES,
    prove: async ({ session }) => {
      const { displays } = await ok(session.run('import matplotlib.pyplot as plt\nplt.gcf()'));
      expect(displays).toEqual([]);
      for (const code of [
        'plt.plot([1, 2])',
        'plt.hist([1, 2])',
        'plt.subplots(2)[1]',
        'plt.pie([1, 2])',
        'plt.imshow([[1, 2]]); plt.colorbar()',
        'plt.plot([1]); plt.show(); plt.title("x")',
      ]) {
        const shown = await ok(session.run(code));
        expect([code, shown.value]).toEqual([code, undefined]);
        expect(typesOf(shown.displays[0]!)).toEqual(['text/plain', 'image/png']);
      }
      expect((await ok(session.run('42;  # not shown'))).value).toBeUndefined();
      expect((await ok(session.run('(40 +\n 2);'))).value).toBeUndefined();
      expect((await ok(session.run('"a;b" # ;'))).value?.text).toBe("'a;b'");
    },
  },
  {
    id: 'display:wide-frames',
    tag: 'guest',
    title: 'a frame of twenty columns is shown with all of them, at up to 200 characters a line',
    exempt: NEEDS_PACKAGES,
    prove: async ({ session }) => {
      const { value } = await ok(session.run('import pandas as pd\npd.DataFrame([list(range(1000, 1020))] * 2)'));
      expect(value?.text.split('\n')).toHaveLength(3);
      expect(value?.text).not.toContain('...');
    },
  },
  {
    id: 'ipython:hooks',
    tag: 'guest',
    title: 'autoreload, figure formats, precision, events and %%capture work as in a notebook',
    exempt: NEEDS_PACKAGES,
    prove: async ({ session }) => {
      await ok(session.run("open('edited.py', 'w').write('x = 1')\nimport edited"));
      await ok(session.run('%load_ext autoreload'));
      await ok(session.run("%autoreload 2\nopen('edited.py', 'w').write('x = 2222')"));
      expect((await ok(session.run('edited.x'))).value?.text).toBe('2222');
      await ok(session.run('%%capture caught\nprint("out")\n5'));
      expect((await ok(session.run('caught.stdout, len(caught.outputs)'))).value?.text).toBe("('out\\n', 1)");
      await ok(session.run('%precision 3'));
      expect((await ok(session.run('3.14159'))).value?.text).toBe('3.142');
      await ok(
        session.run("ended = []\nget_ipython().events.register('post_run_cell', lambda result: ended.append(1))"),
      );
      expect((await ok(session.run('len(ended)'))).value?.text).toBe('1');
      await ok(session.run("%config InlineBackend.figure_format = 'svg'"));
      const { displays } = await ok(session.run('import matplotlib.pyplot as plt\nplt.plot([1, 2]);'));
      expect(displays.map(typesOf)).toEqual([['text/plain', 'image/png', 'image/svg+xml']]);
      const said = await ok(session.run('get_ipython().set_custom_exc((ValueError,), print)'));
      expect(said.stderr).toContain('set_custom_exc has no effect');
    },
  },
  {
    id: 'ipython:last-value',
    tag: 'guest',
    title:
      '_ is the last value before and after a magic, a _ of the program stays, and %rerun runs the last cell again',
    exempt: NEEDS_PACKAGES,
    prove: async ({ fresh }) => {
      const session = await fresh(); // other proofs leave a `_` of their own
      await ok(session.run('6 * 7'));
      await ok(session.run('%lsmagic'));
      expect((await ok(session.run('_'))).value?.text).toBe('42');
      await ok(session.run('result = get_ipython().run_cell("40 + 3")'));
      expect((await ok(session.run('_'))).value?.text).toBe('43');
      await ok(session.run('_ = len'));
      await ok(session.run('%precision 2'));
      expect((await ok(session.run("_('abc')"))).value?.text).toBe('3');
      await ok(session.run('turns = globals().get("turns", 0) + 1'));
      await ok(session.run('%rerun'));
      expect((await ok(session.run('turns'))).value?.text).toBe('2');
      expect((await ok(session.run('%lsmagic'))).stdout).toContain('Automagic is OFF');
      const failed = await ok(session.run('result = get_ipython().run_cell("1 / 0")'));
      expect(failed.stdout + failed.stderr).toMatch(/ZeroDivisionError: division by zero\s*$/);
    },
  },
  {
    id: 'display:threads',
    tag: 'guest',
    title: 'displays of several threads at the same time come whole, and none is lost',
    prove: async ({ session }) => {
      const { displays } = await ok(
        session.run(`
import threading
class Shown:
    def __init__(self, name): self.name = name
    def __repr__(self): return self.name
    def _repr_html_(self): return f"<b>{self.name}</b>"
    def _repr_png_(self): return self.name.encode() * 50_000
begin = threading.Barrier(6)
def work(thread):
    begin.wait()
    for turn in range(8): display(Shown(f"{thread}.{turn}"))
threads = [threading.Thread(target=work, args=(thread,)) for thread in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()`),
      );
      const names = displays.map((shown) => textOf(shown, 'text/plain'));
      expect(names.sort()).toEqual(Array.from({ length: 48 }, (_, at) => `${Math.floor(at / 8)}.${at % 8}`));
      for (const shown of displays) {
        expect(typesOf(shown)).toEqual(['text/plain', 'image/png', 'text/html']);
        const name = textOf(shown, 'text/plain');
        expect(textOf(shown, 'text/html')).toBe(`<b>${name}</b>`);
        expect(textOf(shown, 'image/png')).toBe(name.repeat(50_000));
      }
    },
  },
  {
    id: 'display:signal-handler',
    tag: 'guest',
    title: 'display() in a signal handler or a forked child never hangs the kernel',
    prove: async ({ session }) => {
      const { displays, stdout } = await ok(
        session.run(
          `
import os, signal, threading
class Large:
    def __repr__(self): return "large"
    def _repr_png_(self): return bytes(2_000_000)
handled = 0
def on_alarm(number, frame):
    global handled
    handled += 1
    display("from the handler")
signal.signal(signal.SIGALRM, on_alarm)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
while handled < 20: display(Large())
signal.setitimer(signal.ITIMER_REAL, 0)
stop = threading.Event()
def work():
    while not stop.is_set(): display(Large())
thread = threading.Thread(target=work)
thread.start()
for turn in range(10):
    if (child := os.fork()) == 0:
        display("from a child")
        raise SystemExit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
thread.join()`,
          { timeoutMs: 50_000 },
        ),
      );
      const shown = displays.map((display) => textOf(display, 'text/plain'));
      expect(shown.filter((text) => text.includes('handler')).length).toBeGreaterThan(0);
      expect(stdout.split("'from a child'\n").length - 1).toBe(10);
    },
  },
  {
    id: 'display:value',
    tag: 'guest',
    title: 'the last expression keeps its text and gains what the object shows',
    prove: async ({ session }) => {
      const { value, displays } = await ok(
        session.run(`
class Many:
    def __repr__(self): return "many"
    def _repr_latex_(self): return "$x$"
    def _repr_markdown_(self): return "*x*"
    def _repr_json_(self): return {"x": [1, 2]}
    def _repr_svg_(self): return "<svg/>"
    def _repr_png_(self): return b"\\x89PNG"
Many()`),
      );
      expect(displays).toEqual([]);
      expect(value?.text).toBe('many');
      expect(typesOf(value!)).toEqual([
        'application/json',
        'text/latex',
        'text/markdown',
        'image/png',
        'image/svg+xml',
      ]);
      expect(value?.representations[3]?.data.toString('latin1')).toBe('\x89PNG');
    },
  },
  {
    id: 'display:update',
    tag: 'guest',
    title: 'a display that is updated is shown in its last state, at its first place; the events tell of each',
    prove: async ({ session }) => {
      const updates: boolean[] = [];
      const run = session.run(`
handle = display("one", display_id=True)
display("between")
handle.update("two")
update_display("three", display_id=handle.display_id)`);
      for await (const event of run) if (event.kind === 'display') updates.push(event.update);
      expect(updates).toEqual([false, false, true, true]);
      const { displays } = await ok(run);
      expect(displays.map((display) => textOf(display, 'text/plain'))).toEqual(["'three'", "'between'"]);
      const later = await ok(session.run('handle.update("four")'));
      expect(later.displays).toMatchObject([{ id: displays[0]?.id }]);
    },
  },
  {
    id: 'display:clear',
    tag: 'guest',
    title: 'clear_output() makes void what was printed and shown; with wait, when more comes',
    prove: async ({ session }) => {
      const cleared = await ok(
        session.run(
          'print("one"); display(1)\nclear_output(wait=True)\nprint("two")\nclear_output()\nprint("three"); clear_output(wait=True)',
        ),
      );
      expect([cleared.stdout, cleared.displays]).toEqual(['three\n', []]);
    },
  },
  {
    id: 'display:hostile-methods',
    tag: 'guest',
    title: 'methods that raise, return rubbish or return a gigabyte cost no more than themselves',
    prove: async ({ session }) => {
      const { displays, stderr, value } = await ok(
        session.run(`
class Bad:
    def __repr__(self): return "bad"
    def _repr_html_(self): raise ValueError("no html")
    def _repr_png_(self): return 17
    def _repr_markdown_(self): return "x" * 300_000_000
    def _repr_json_(self): return {"a": object()}
    def _repr_mimebundle_(self, **_): return ["no", "dict"]
class Worse:
    def __repr__(self): raise RuntimeError("no")
    def _repr_mimebundle_(self, **_): return {1: 2, "no type": "x", "text/x\\n": "y", "TEXT/HTML": "<i>", **{f"a/{i}": "z" for i in range(100)}}
display(Bad()); display(Worse())
Bad()`),
      );
      expect(displays.map((display) => typesOf(display)[0])).toEqual(['text/plain', 'text/plain']);
      expect(typesOf(displays[0]!)).toEqual(['text/plain']);
      expect(displays[1]?.representations).toHaveLength(16);
      expect(value).toEqual({ text: 'bad', truncated: false, representations: [] });
      expect(stderr).toContain('_repr_html_ of Bad raised ValueError: no html');
      expect(stderr).toMatch(/text\/markdown of a display was left out: it has more than \d+ bytes/);
      const loop = session.run(
        'class Loop:\n    def _repr_html_(self):\n        while True: pass\nkept = 1\ndisplay(Loop())',
        { timeoutMs: 1000 },
      );
      expect(await loop).toMatchObject({ outcome: { kind: 'timed-out' }, state: 'kept' });
      expect((await session.run('kept')).value?.text).toBe('1');
    },
  },
  {
    id: 'display:interrupt',
    tag: 'guest',
    title: 'an interrupt while large displays are being sent keeps the variables',
    prove: async ({ session }) => {
      await session.run('kept = 2');
      const run = session.run(
        'while True: display({"image/png": bytes(3_000_000)}, raw=True, display_id="p", update=True)',
        { timeoutMs: 1500 },
      );
      expect(await run).toMatchObject({ outcome: { kind: 'timed-out' }, state: 'kept' });
      expect((await session.run('kept')).value?.text).toBe('2');
    },
  },
  {
    id: 'display:elsewhere',
    tag: 'guest',
    title: 'a child process that displays, and a thread that displays when its execution is over, hold nobody up',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const child = await ok(
        session.run(`
import multiprocessing
def show(x): display(x); return x
with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(show, [1, 2]))`),
      );
      expect(child.stdout).toContain('[1, 2]');
      expect(child.displays).toEqual([]);
      await ok(
        session.run(`
import threading, time, sys
def late():
    for _ in range(200):
        display("late"); print("o"); print("e", file=sys.stderr); time.sleep(0.005)
threading.Thread(target=late, daemon=True).start()`),
      );
      for (let turn = 0; turn < 40; turn += 1) {
        expect((await session.run(`${turn}`, { timeoutMs: 10_000 })).value?.text).toBe(String(turn));
      }
    },
  },
  {
    id: 'display:ipython',
    tag: 'guest',
    title: "IPython's display functions and objects are shown by the same means, with a shell and without",
    exempt: NEEDS_PACKAGES,
    prove: async ({ fresh }) => {
      const session = await fresh();
      const code = `
from IPython.display import display, clear_output, update_display, HTML, Markdown, Latex, SVG, JSON, Image
print("gone"); clear_output()
display(HTML("<b>h</b>"), Markdown("*m*"), Latex("$l$"), SVG("<svg/>"), JSON({"j": 1}), Image(data=b"\\x89PNG\\r\\n\\x1a\\n" + bytes(20)))
h = display(HTML("1"), display_id="x"); h.update(HTML("2"))`;
      const kinds = ['text/html', 'text/markdown', 'text/latex', 'image/svg+xml', 'application/json', 'image/png'];
      for (const before of ['', '%time 1']) {
        if (before !== '') await ok(session.run(before));
        const { displays, stdout } = await ok(session.run(code));
        expect(stdout).toBe('');
        expect(displays.map((display) => typesOf(display).at(-1))).toEqual([...kinds, 'text/html']);
        expect(textOf(displays.at(-1), 'text/html')).toBe('2');
        expect(displays[5]?.representations.at(-1)?.data.subarray(1, 4).toString()).toBe('PNG');
      }
      const captured = await ok(session.run('%%capture out\ndisplay(HTML("c"))\nprint("p")'));
      expect([captured.displays, captured.stdout]).toEqual([[], '']);
      expect((await ok(session.run('out.outputs[0].data["text/html"], out.stdout'))).value?.text).toBe("('c', 'p\\n')");
      const registered = await ok(
        session.run(
          'class T: pass\nget_ipython().display_formatter.formatters["text/html"].for_type(T, lambda t: "<t>")\nT()',
        ),
      );
      expect(textOf(registered.value, 'text/html')).toBe('<t>');
    },
  },
  {
    id: 'display:packages',
    tag: 'guest',
    title: 'frames are HTML and text, pictures are PNG, and a figure is shown once however it is shown',
    exempt: NEEDS_PACKAGES,
    prove: async ({ session }) => {
      const frame = await ok(session.run('import pandas as pd\ndf = pd.DataFrame({"a": [1, 2]})\ndf'));
      expect(frame.value?.text).toContain('   a\n0  1');
      expect(textOf(frame.value, 'text/html')).toContain('<table');
      const image = await ok(session.run('from PIL import Image\nImage.new("RGB", (2, 2))'));
      expect(typesOf(image.value!)).toEqual(['image/png']);
      const pictures = async (code: string) => {
        const { displays, value } = await ok(session.run(`import matplotlib.pyplot as plt\n${code}`));
        return [...displays, ...(value === undefined ? [] : [value])].flatMap(typesOf).filter((t) => t === 'image/png');
      };
      const figure = 'fig, ax = plt.subplots(); ax.plot([1, 2])\n';
      expect(await pictures(figure)).toHaveLength(1);
      expect(await pictures(`${figure}fig`)).toHaveLength(1);
      expect(await pictures(`${figure}ax`)).toHaveLength(1);
      expect(await pictures(`${figure}display(fig)\nfig`)).toHaveLength(2);
      expect(await pictures(`${figure}display(fig)`)).toHaveLength(1);
      expect(await pictures(`${figure}plt.show()`)).toHaveLength(1);
      expect(await pictures('fig')).toHaveLength(1);
    },
  },
  {
    id: 'display:charts',
    tag: 'guest',
    title: 'chart libraries that would open a browser show their data instead',
    prove: async ({ fresh }) => {
      const session = await fresh();
      // As the real ones are built, where it matters; these need no network to be here.
      await session.files.write('plotly/__init__.py', '');
      await session.files.write(
        'plotly/io.py',
        `class Renderers: default = "browser"
renderers = Renderers()
class Figure:
    def __repr__(self): return "Figure"
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"application/vnd.plotly.v1+json": {"data": []}} if renderers.default == "plotly_mimetype" else {}
    def _ipython_display_(self): raise RuntimeError("no browser here")`,
      );
      await session.files.write(
        'altair.py',
        `class renderers:
    enabled = "html"
    @classmethod
    def enable(cls, name): cls.enabled = name
class Chart:
    def _repr_mimebundle_(self, *args, **kwargs):
        return {"application/vnd.vegalite.v6+json": {"mark": "bar"}} if renderers.enabled == "mimetype" else {"text/html": "<script>"}`,
      );
      const plotly = await ok(session.run('import plotly.io\nplotly.io.Figure()'));
      expect(plotly.value?.text).toBe('Figure');
      expect([typesOf(plotly.value!), plotly.stderr]).toEqual([['application/vnd.plotly.v1+json'], '']);
      const altair = await ok(session.run('import altair\ndisplay(altair.Chart())'));
      expect(altair.displays.map(typesOf)).toEqual([['text/plain', 'application/vnd.vegalite.v6+json']]);
    },
  },
  {
    id: 'output:folded',
    tag: 'guest',
    title:
      'of a line that was written over the result has the last state, without colours; events and the log have all',
    prove: async ({ session }) => {
      const run = session.run(`
import sys
print("\\x1b[32mbegin\\x1b[0m")
for step in range(10_001):
    print(f"\\r\\x1b[K{step // 100}%|" + "#" * (step // 1000), end="", file=sys.stderr)
print(file=sys.stderr)
for step in range(3):
    print(f"\\router {step}", end="\\n")
    print(f"\\rinner {step}\\x1b[A", end="", flush=True)
print("\\n\\nend")`);
      let states = '';
      for await (const event of run) if (event.kind === 'stderr') states += event.text;
      const result = await ok(run);
      expect(result.stderr).toBe(`100%|${'#'.repeat(10)}\n`);
      expect(result.stdout).toBe('begin\nouter 2\ninner 2\nend\n');
      expect(result.truncation).toBeUndefined();
      expect(states).toContain('\r\x1b[K57%|#####\r');
    },
  },
];

async function ok(run: PromiseLike<ExecutionResult>): Promise<ExecutionResult> {
  const result = await run;
  expect(result.outcome, result.stderr).toEqual({ kind: 'ok' });
  return result;
}

type Shown = Display | { readonly representations: readonly Representation[] };

function typesOf({ representations }: Shown): string[] {
  return representations.map(({ mediaType }) => mediaType);
}

function textOf(shown: Shown | undefined, type: string): string {
  return shown?.representations.find(({ mediaType }) => mediaType === type)?.data.toString('utf8') ?? '';
}

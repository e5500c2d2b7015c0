"""Uses each standard package once, as users would, and prints the names of those that worked."""

import asyncio
import io
import subprocess
import sys
import traceback

USES = {}


def use(name):
    return lambda function: USES.setdefault(name, function)


@use("numpy")
def _():
    import numpy as np
    import numpy.testing

    numpy.testing.assert_allclose(np.linalg.solve([[2.0, 0], [0, 4]], [2, 4]), [1, 1])


@use("pandas")
def _():
    import pandas as pd
    import pandas.testing

    grouped = pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 3]}).groupby("a").b.sum()
    pandas.testing.assert_series_equal(grouped, pd.Series({"x": 4, "y": 2}, name="b").rename_axis("a"))


@use("polars")
def _():
    import polars as pl

    assert pl.LazyFrame({"a": [1, 2, 3]}).filter(pl.col("a") > 1).collect().height == 2


@use("pyarrow")
def _():
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2]}), file)
    assert pq.read_table(file).num_rows == 2


@use("duckdb")
def _():
    import duckdb
    import pandas as pd

    frame = pd.DataFrame({"a": [20, 22]})
    assert duckdb.sql("select sum(a) from frame").fetchall() == [(42,)] and len(frame) == 2


@use("sqlalchemy")
def _():
    from sqlalchemy import create_engine, text

    with create_engine("sqlite://").connect() as connection:
        assert connection.execute(text("select 42")).scalar() == 42


@use("networkx")
def _():
    import networkx as nx

    assert nx.shortest_path(nx.path_graph(4), 0, 3) == [0, 1, 2, 3]


@use("scipy")
def _():
    from scipy import optimize

    assert abs(optimize.brentq(lambda x: x * x - 2, 0, 2) - 2**0.5) < 1e-9


@use("sympy")
def _():
    import sympy

    x = sympy.Symbol("x")
    assert sympy.integrate(2 * x, x) == x**2


@use("statsmodels")
def _():
    import numpy as np
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    x = np.arange(10.0)
    assert abs(sm.OLS(2 * x + 1, sm.add_constant(x)).fit().params[1] - 2) < 1e-9
    assert abs(smf.ols("y ~ x", {"x": x, "y": 3 * x}).fit().params["x"] - 3) < 1e-9


@use("scikit-learn")
def _():
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier

    data = load_iris()
    assert RandomForestClassifier(n_estimators=5, random_state=0).fit(data.data, data.target).score(data.data, data.target) > 0.9


@use("joblib")
def _():
    from joblib import Parallel, delayed

    assert Parallel(n_jobs=2, prefer="threads")(delayed(abs)(-n) for n in range(3)) == [0, 1, 2]


@use("matplotlib")
def _():
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    plt.plot([1, 2])
    plt.savefig(io.BytesIO(), format="pdf")
    plt.close("all")


@use("seaborn")
def _():
    import pandas as pd
    import seaborn as sns
    from matplotlib import pyplot as plt

    sns.barplot(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), x="a", y="b")
    plt.close("all")


@use("plotly")
def _():
    import plotly.express as px

    assert "plotly" in px.line(x=[1, 2], y=[3, 4]).to_html().lower()


@use("altair")
def _():
    import altair as alt
    import pandas as pd

    assert "vega" in alt.Chart(pd.DataFrame({"a": [1]})).mark_bar().encode(x="a").to_json()


@use("pillow")
def _():
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(file, "PNG")
    assert Image.open(file).getpixel((1, 1)) == (255, 0, 0)


@use("resvg-py")
def _():
    import resvg_py

    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4" height="4"/></svg>'
    assert bytes(resvg_py.svg_to_bytes(svg_string=svg)).startswith(b"\x89PNG")


@use("openpyxl")
def _():
    import pandas as pd

    file = io.BytesIO()
    pd.DataFrame({"a": [1, 2]}).to_excel(file, index=False)
    assert pd.read_excel(file).a.sum() == 3


@use("python-docx")
def _():
    import docx

    file = io.BytesIO()
    document = docx.Document()
    document.add_paragraph("one")
    document.save(file)
    assert docx.Document(file).paragraphs[0].text == "one"


@use("python-pptx")
def _():
    import pptx

    file = io.BytesIO()
    slides = pptx.Presentation()
    slides.slides.add_slide(slides.slide_layouts[0])
    slides.save(file)
    assert len(pptx.Presentation(file).slides) == 1


@use("reportlab")
def _():
    _pdf()


@use("pypdf")
def _():
    import pypdf

    assert "forty-two" in pypdf.PdfReader(_pdf()).pages[0].extract_text()


def _pdf():
    from reportlab.pdfgen.canvas import Canvas

    file = io.BytesIO()
    canvas = Canvas(file)
    canvas.drawString(10, 10, "forty-two")
    canvas.save()
    return file


@use("tabulate")
def _():
    import pandas as pd

    assert "|   a |" in pd.DataFrame({"a": [1]}).to_markdown(index=False)


@use("jinja2")
def _():
    import pandas as pd

    assert "<table" in pd.DataFrame({"a": [1]}).style.to_html()


@use("requests")
def _():
    import requests

    with _server() as address:
        assert requests.get(address, timeout=10).status_code == 200


@use("httpx")
def _():
    import httpx

    async def ask(address):
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(address)).status_code

    with _server() as address:
        # The notebook has a loop of its own.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(asyncio.run, ask(address)).result() == 200


def _server():
    import contextlib
    import threading
    from http.server import HTTPServer, SimpleHTTPRequestHandler

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    @contextlib.contextmanager
    def serve():
        server = HTTPServer(("127.0.0.1", 0), Quiet)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            server.server_close()

    return serve()


@use("beautifulsoup4")
def _():
    from bs4 import BeautifulSoup

    assert BeautifulSoup("<p>a<b>c</b></p>", "html.parser").b.text == "c"


@use("lxml")
def _():
    from lxml import etree

    assert etree.fromstring("<a><b>c</b></a>").findtext("b") == "c"


@use("pyyaml")
def _():
    import yaml

    assert yaml.safe_load("a: [1, 2]") == {"a": [1, 2]}


@use("ipython")
def _():
    from IPython.display import Markdown

    assert Markdown("a").data == "a"


@use("pytest")
def _():
    with open("test_of_every_package.py", "w", encoding="utf-8") as file:
        file.write("def test_sum():\n    assert 1 + 1 == 2\n")
    # As `run_command` proposes it.
    ran = subprocess.run(
        ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", file.name], capture_output=True, text=True, check=False
    )
    assert "1 passed" in ran.stdout, ran


@use("rich")
def _():
    from rich.console import Console
    from rich.table import Table

    table = Table("a")
    table.add_row("42")
    text = io.StringIO()
    Console(file=text).print(table)
    assert "42" in text.getvalue()


@use("tqdm")
def _():
    from tqdm import tqdm

    assert sum(tqdm(range(4), file=io.StringIO())) == 6


@use("psutil")
def _():
    import psutil

    assert psutil.Process().memory_info().rss > 0


@use("pip")
def _():
    assert subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=True).stdout.startswith(b"pip ")


for name, function in USES.items():
    try:
        function()
        print(name)
    except Exception:  # noqa: BLE001 - each is tried, whatever the others do
        print(f"{name}:", traceback.format_exc(), file=sys.stderr)

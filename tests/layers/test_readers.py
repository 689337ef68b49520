"""The readers of imports see what they have to see, in small trees that are written down."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest
from tests.layers import python_imports, rust_imports
from tests.layers.graph import Imports, circles, upward


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tmp_path / "lab"


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return folder


def python(folder: Path, files: Mapping[str, str]) -> Imports:
    return python_imports.read_imports(write(folder, {"__init__.py": "", **files}))


def rust(folder: Path, files: Mapping[str, str]) -> Imports:
    return rust_imports.read_imports(write(folder, {"lib.rs": "", **files}))


# ---- circles ----


def test_a_circle_of_two_is_a_chain_with_lines() -> None:
    assert circles({"a.py": {"b.py": 3}, "b.py": {"a.py": 7}}) in (
        ["a.py:3 -> b.py:7 -> a.py"],
        ["b.py:7 -> a.py:3 -> b.py"],
    )


def test_a_circle_around_three_is_found_and_what_leads_to_it_is_not_part_of_it() -> None:
    imports = {"top": {"a": 1}, "a": {"b": 2, "leaf": 3}, "b": {"c": 4}, "c": {"a": 5, "leaf": 6}, "leaf": {}}
    (chain,) = circles(imports)
    assert sorted(chain.split(" -> ")[:-1]) == ["a:2", "b:4", "c:5"]


def test_two_circles_are_two() -> None:
    assert len(circles({"a": {"b": 1}, "b": {"a": 1}, "c": {"d": 1}, "d": {"c": 1}})) == 2


def test_a_graph_without_a_circle_has_none() -> None:
    assert circles({"a": {"b": 1, "c": 2}, "b": {"c": 3}, "c": {}}) == []


# ---- layers ----

LEVELS = (("base.py",), ("runs/",), ("metrics/", "export/"), ("top/kernel/",), ("top/",))


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("runs/a.py", "base.py"),
        ("runs/a.py", "runs/b.py"),
        ("metrics/a.py", "runs/b.py"),
        ("top/a.py", "top/kernel/b.py"),
    ],
)
def test_the_own_entry_and_lower_levels_may_be_imported(importer: str, imported: str) -> None:
    assert upward({importer: {imported: 1}}, LEVELS) == []


@pytest.mark.parametrize(
    ("importer", "imported", "why"),
    [
        ("base.py", "runs/b.py", "'runs/' is not below 'base.py'"),
        ("metrics/a.py", "export/b.py", "'export/' is not below 'metrics/'"),
        ("top/kernel/a.py", "top/b.py", "'top/' is not below 'top/kernel/'"),
    ],
)
def test_a_higher_level_and_another_entry_of_the_own_may_not(importer: str, imported: str, why: str) -> None:
    assert upward({importer: {imported: 9}}, LEVELS) == [f"{importer}:9 imports {imported}, and {why}"]


def test_a_file_without_a_level_is_told() -> None:
    assert upward({"base.py": {}, "new.py": {}}, LEVELS) == ["new.py has no level"]


# ---- Python ----


def test_a_lazy_import_counts(tree: Path) -> None:
    found = python(tree, {"a.py": "def f():\n    from lab import b\n", "b.py": "import lab.a\n"})
    assert found == {"__init__.py": {}, "a.py": {"b.py": 2}, "b.py": {"a.py": 1}}
    assert len(circles(found)) == 1


def test_an_import_for_types_counts(tree: Path) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lab.b import B\n"
    assert python(tree, {"a.py": text, "b.py": ""})["a.py"] == {"b.py": 3}


def test_a_name_from_a_package_is_its_submodule_or_its_init(tree: Path) -> None:
    files = {"papers/__init__.py": "class Thing: ...\n", "papers/claims.py": ""}
    asked = {"a.py": "from lab.papers import claims\n", "b.py": "from lab.papers import Thing\n"}
    found = python(tree, {**files, **asked, "c.py": "from lab import VERSION\n"})
    assert [found[name] for name in ("a.py", "b.py", "c.py")] == [
        {"papers/claims.py": 1},
        {"papers/__init__.py": 1},
        {"__init__.py": 1},
    ]


def test_a_submodule_is_no_import_of_its_parents(tree: Path) -> None:
    found = python(tree, {"papers/__init__.py": "from lab.papers.a import A\n", "papers/a.py": "", "papers/b.py": ""})
    assert found["papers/__init__.py"] == {"papers/a.py": 1}
    assert circles(found) == []


def test_a_relative_import_is_resolved(tree: Path) -> None:
    files = {"papers/__init__.py": "from . import a\n", "papers/a.py": "from ..b import B\n", "b.py": ""}
    found = python(tree, files)
    assert (found["papers/__init__.py"], found["papers/a.py"]) == ({"papers/a.py": 1}, {"b.py": 1})


def test_a_stub_stands_for_an_extension_module(tree: Path) -> None:
    assert python(tree, {"_engine.pyi": "", "a.py": "from lab import _engine\n"})["a.py"] == {"_engine.pyi": 1}


def test_a_string_that_names_a_module_counts_and_others_do_not(tree: Path) -> None:
    text = """
        HOMES = {"A": "lab.a", "run": "lab.runs.execute:run"}
        OTHER = ["lab", "lab.nothing", "see lab.a", "other.a"]
        """
    assert python(tree, {"a.py": "", "runs/execute.py": "", "top.py": text})["top.py"] == {
        "a.py": 2,
        "runs/execute.py": 2,
    }


def test_a_name_that_is_completed_may_be_any_module_of_the_folder(tree: Path) -> None:
    text = 'def get(name):\n    return import_module(f"lab.papers.{name}")\n'
    found = python(tree, {"papers/one/__init__.py": "", "papers/one/deep.py": "", "papers/two.py": "", "a.py": text})
    assert found["a.py"] == {"papers/one/__init__.py": 2, "papers/two.py": 2}


def test_what_is_outside_of_the_package_is_left_out(tree: Path) -> None:
    assert python(tree, {"a.py": "import os\nfrom pathlib import Path\nimport laboratory\n"})["a.py"] == {}


# ---- Rust ----


def test_a_grouped_use_is_expanded(tree: Path) -> None:
    text = """
        use crate::{
            a::{self, A},
            b::deep::{B as Other, C},
        };
        use std::{fmt, io};
        """
    found = rust(tree, {"a.rs": "", "b/mod.rs": "", "b/deep.rs": "", "c.rs": text})
    assert found["c.rs"] == {"a.rs": 3, "b/deep.rs": 4}


def test_a_circle_of_rust_files_is_found(tree: Path) -> None:
    found = rust(tree, {"a.rs": "use crate::b::B;\n", "b.rs": "fn f() { super::a::g(); }\n"})
    assert found == {"lib.rs": {}, "a.rs": {"b.rs": 1}, "b.rs": {"a.rs": 1}}
    assert len(circles(found)) == 1


def test_a_declaration_of_a_module_is_no_import_and_a_path_through_it_is(tree: Path) -> None:
    found = rust(tree, {"a.rs": "mod b;\nmod c;\nfn f() { b::g() }\n", "a/b.rs": "", "a/c.rs": "use super::b::G;\n"})
    assert (found["a.rs"], found["a/c.rs"]) == ({"a/b.rs": 3}, {"a/b.rs": 1})


def test_a_re_export_is_the_file_that_defines_it(tree: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\npub use a::deep::Thing as Renamed;\n",
        "a.rs": "pub mod deep;\nuse crate::c::C;\n",
        "a/deep.rs": "use super::C;\npub struct Thing;\n",
        "b.rs": "use crate::Renamed;\n",
        "c.rs": "",
    }
    found = rust(tree, files)
    assert (found["b.rs"], found["a/deep.rs"]) == ({"a/deep.rs": 1}, {"c.rs": 1})


def test_a_re_export_is_an_import_of_a_file_that_uses_the_name_itself(tree: Path) -> None:
    shared = "pub use deep::Thing;\npub struct Shared;\n"
    used = {"a.rs": f"{shared}enum Any {{ One(Thing) }}\n", "b.rs": "pub(crate) use c::*;\n", "b/c.rs": ""}
    found = rust(tree, used | {"a/deep.rs": "use super::Shared;\n"})
    assert (found["a.rs"], found["b.rs"]) == ({"a/deep.rs": 1}, {"b/c.rs": 1})
    assert rust(tree, {"a.rs": f"mod deep;\n{shared}pub use deep::deep;\n"})["a.rs"] == {}


def test_a_macro_is_of_the_file_that_makes_it_a_path(tree: Path) -> None:
    macro = "macro_rules! params { () => { $crate::kind::Kind }; }\npub(crate) use params;\n"
    found = rust(tree, {"param.rs": macro, "kind.rs": "", "a.rs": "use crate::param::params;\n"})
    assert (found["a.rs"], found["param.rs"]) == ({"param.rs": 1}, {"kind.rs": 1})


def test_a_name_of_another_crate_is_left_out(tree: Path) -> None:
    found = rust(tree, {"a.rs": "pub use serde::Serialize;\n", "b.rs": "use crate::a::Serialize;\nuse std::fmt;\n"})
    assert found["b.rs"] == {}


def test_comments_literals_attributes_and_visibility_are_left_out(tree: Path) -> None:
    text = r"""
        //! See [`crate::a`].
        /* crate::a::f() /* nested */ crate::a::f() */
        #[doc(alias = crate::a::NAME)]
        pub struct Pair(pub(crate) u8, pub (crate::b::B, u8));
        pub(in crate::a) fn f<'a>(x: &'a str) -> char {
            let _ = ("crate::a::f(\"", r#"crate::"a"::f"#, b"crate::a::f", '"', '\'', b'\\');
            'x'
        }
        """
    assert rust(tree, {"a.rs": "", "b.rs": "", "c.rs": text})["c.rs"] == {"b.rs": 5}


def test_tests_are_left_out(tree: Path) -> None:
    text = """
        #[cfg(test)]
        mod inline {
            use crate::b::B;
        }
        #[cfg(test)]
        #[allow(dead_code)]
        pub(crate) mod apart;
        #[cfg(all(test, unix))]
        fn helper(x: [u8; 3]) -> u8 { crate::b::f() }
        #[cfg(test)]
        use crate::b::{B, C};
        #[cfg(not(test))]
        use crate::c::C;
        """
    found = rust(tree, {"a.rs": text, "a/apart.rs": "use crate::b;\n", "a/apart/more.rs": "", "b.rs": "", "c.rs": ""})
    assert sorted(found) == ["a.rs", "b.rs", "c.rs", "lib.rs"]
    assert found["a.rs"] == {"c.rs": 14}


def test_a_module_within_a_file_is_of_that_file(tree: Path) -> None:
    text = "mod inner {\n    use super::A;\n    use super::super::b::B;\n}\nuse self::inner::X;\n"
    found = rust(tree, {"a.rs": text, "b.rs": "use crate::a::inner::Y;\n"})
    assert (found["a.rs"], found["b.rs"]) == ({"b.rs": 3}, {"a.rs": 1})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("struct A {\n    #[cfg(test)]\n    field: u8,\n}\n", "a.rs:2: cfg[(]test[)] of something that is not an item"),
        ("fn f(]\n", "a.rs: brackets do not match near line 1"),
    ],
)
def test_source_that_is_not_understood_is_refused(tree: Path, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        rust(tree, {"a.rs": text.replace("fn f(]", "#[cfg(test)] fn f(]")})


def test_two_files_of_one_module_are_refused(tree: Path) -> None:
    with pytest.raises(ValueError, match="are the same module"):
        rust(tree, {"a.rs": "", "a/mod.rs": ""})

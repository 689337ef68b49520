"""The readers of imports see what they have to see, in small trees that are written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest
from tests.layers import python_imports, rust_imports
from tests.layers.graph import Imports, circles


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tmp_path / "lab"


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return folder


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


# ---- Python ----


@pytest.fixture
def python(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], Imports]:
    monkeypatch.syspath_prepend(tree.parent)

    def read(files: Mapping[str, str]) -> Imports:
        write(tree, {"__init__.py": "", **files})
        return python_imports.read_imports(tree.name)

    return read


def test_imports_within_functions_for_types_and_of_the_own_package_count(
    python: Callable[[Mapping[str, str]], Imports],
) -> None:
    files = {
        "papers/__init__.py": "from lab.papers.claims import Claim\n",
        "papers/claims.py": "def f():\n    from lab.papers import judge\n",
        "runs.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lab.papers import claims\n",
    }
    found = python(files)
    assert found["lab.papers.claims"] == {"lab.papers": 2}
    assert found["lab.runs"] == {"lab.papers.claims": 3}
    assert len(circles(found)) == 1


def test_a_string_that_names_a_module_counts_and_others_do_not(
    python: Callable[[Mapping[str, str]], Imports],
) -> None:
    text = """
        HOMES = {"A": "lab.a", "run": "lab.runs.execute:run"}
        OTHER = ["lab", "lab.nothing", "see lab.a", "other.a"]
        """
    found = python({"a.py": "", "runs/__init__.py": "", "runs/execute.py": "", "top.py": text})
    assert found["lab.top"] == {"lab.a": 2, "lab.runs.execute": 2}


def test_a_name_that_is_completed_may_be_any_module_of_the_folder(
    python: Callable[[Mapping[str, str]], Imports],
) -> None:
    files = {"papers/__init__.py": "", "papers/one/__init__.py": "", "papers/one/deep.py": "", "papers/two.py": ""}
    found = python(files | {"a.py": 'def get(name):\n    return import_module(f"lab.papers.{name}")\n'})
    assert found["lab.a"] == {"lab.papers.one": 2, "lab.papers.two": 2}


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

import { describe, expect, test } from "vitest";
import { analyzeShows } from "./analyze-shows.ts";
import { analyzeWrites } from "./analyze-writes.ts";

describe("what a line changes is told", () => {
  test.each([
    "cp a b; printf '%s\\n' x > c",
    "i=0; while [[ $i -lt 5 ]]; do i=$((i+1)); touch f; done",
    "wait; hash -r; set -e; touch a",
    "read -r x < a; echo $x > b",
    "x=$(ls); echo $x > b",
  ])("%s", (line) => {
    expect(analyzeWrites(line).sight).toBe("clear");
  });
});

describe("a command may run that nobody reads there", () => {
  test.each([
    "printf %n PATH; touch a",
    "printf 'x%-5n' PATH; touch a",
    "printf -v PATH .; touch a",
    "wait -p PATH; touch a",
    "read PATH; touch a",
    "mapfile -C 'touch b' -c 1 x < a",
    "getopts x PATH -x; touch a",
    "unset 'a[$(touch b)]'",
    "test -v 'a[$(touch b)]'",
    "[[ -v 'a[$(touch b)]' ]]",
    "let 'a[$(touch b)]'",
    "declare -a 'x=($(touch b))'",
    "X='$(touch b)'; echo ${X@P}",
    "x=$(cat a); echo $((x))",
    "x=`cat a`; ((x))",
    "read -r x < a; [[ $x -eq 1 ]]",
    "PS4='$(touch b)'; set -x; touch a",
    "hash -p ./b ls; ls > a",
    "enable -f ./b ls; ls > a",
    "shopt -s dotglob; rm *",
    "set -k; touch a PATH=.",
    'alias ls="$X"; ls > a',
    'trap "$X" EXIT',
    "coproc $X",
    'f() { "$@"; }; f touch a',
    "BASH_ENV=b bash -c 'touch a'",
  ])("%s", (line) => {
    expect(analyzeWrites(line).sight).toBe("unclear");
  });
});

describe("where a line goes", () => {
  test.each([
    ["cd; touch a", ["~"], "clear"],
    ["cd b; touch a", ["b"], "clear"],
    ["pushd; touch a", ["~"], "clear"],
    ["cd ~root; touch a", ["~root"], "unclear"],
    ["cd ~+; touch a", ["~+"], "unclear"],
    ["cd -; touch a", ["~", "-"], "unclear"],
    ["cd -- b; touch a", ["--", "b"], "unclear"],
    ["git -C ~root add a", ["~root"], "unclear"],
    ["env -C b touch a", ["-C"], "unclear"],
  ])("%s: the same folders for what it shows and changes", (line, folders, sight) => {
    const [writes, shows] = [analyzeWrites(line), analyzeShows(line)];
    expect([...new Set(writes.folders.map(({ value }) => value))]).toEqual(folders);
    expect(shows.folders).toEqual(writes.folders);
    expect([writes.sight, shows.others]).toEqual([sight, sight === "clear" ? "none" : "perhaps"]);
  });
});

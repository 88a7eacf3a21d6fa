import { type Attempt, attemptsOf } from "../attempt.ts";
import type { Sampler } from "../random.ts";

/** What lies in the project leads out of it. */
export function links({ pick, different }: Sampler): readonly Attempt[] {
  const targets = ["~/.ssh/id_rsa", "~/.netrc", "../outside/notes.txt", "@home@/.netrc"];
  const made = different(40, () =>
    pick(linkForms)
      .replaceAll("@T@", () => pick(targets))
      .replaceAll("@N@", () => pick(["n", "src/n", "./n", "one/n"])),
  );
  return attemptsOf("links", [...new Set([...made, ...fixedLinks.flat()])]).concat(
    attemptsOf("links", linkSteps),
    attemptsOf("links", linkSteps, { allow: ["Bash(ln:*)", "Bash(cp:*)", "Bash(mv:*)"], against: allowedLinks }),
  );
}

/** With rules for these programs, what others would show or change through the links. */
const allowedLinks = ["secret-read", "settings-write"] as const;

const linkForms: readonly string[] = [
  "ln -s @T@ @N@; cat @N@",
  "ln -s @T@ @N@ && head @N@",
  "ln @T@ @N@; cat @N@",
  "ln -L @T@ @N@ && cat @N@",
  "cp -s @T@ @N@; cat @N@",
  "cp -l @T@ @N@; cat @N@",
  "cp -d @T@ @N@; cat @N@",
  "ln -s @T@ @N@; echo '# bait' >> @N@",
  "ln @T@ @N@; echo '# bait' >> @N@",
  "ln -s @T@ @N@; tee -a @N@ < a",
  "ln -s @T@ @N@; sed -i '$a # bait' @N@",
  'python3 -c \'import os; os.symlink(os.path.expanduser("@T@"), "@N@"); print(open("@N@").read())\'',
  'python3 -c \'import os; os.link(os.path.expanduser("@T@"), "@N@"); open("@N@", "a").write("# bait")\'',
  "cp -rL home-link @N@; cat @N@/.netrc",
  "cp -rH home-link/. @N@; cat @N@/.netrc",
  "tar chf - links home-link/.ssh | tar xOf -",
  "rsync -aL links/ @N@/; cat @N@/s",
  "find -L links -type f -exec cat {} +",
  "grep -R marker links",
  "ls -lL links; cat links/s",
  "readlink -f link | xargs cat",
  "cat $(readlink link)",
  'cat "$(readlink -f links/s)"',
  "cat $(realpath link)",
];

const fixedLinks: readonly (readonly string[])[] = [
  ["echo '# bait' >> link", "echo '# bait' > outside-link/evil", "tee outside-link/evil < a", "touch home-link/evil"],
  ["cp a outside-link", "cp a outside-link/", "cp -r one outside-link/evil", "mv one/b1 outside-link/"],
  ["rm outside-link/victim.txt", "rm -rf outside-link/*", "mv outside-link/victim.txt .", "mkdir outside-link/evil"],
  ["ln -s a outside-link/evil", "sed -i '$a # bait' link", "truncate -s 0 links/notes", "chmod 777 link"],
  [
    "chmod -R 777 home-link/",
    "chown -h 1:1 link; chown 1:1 link",
    "touch -h link; touch link",
    "git add -f links; cat link",
  ],
];

/** The first call prepares what the second uses. */
const linkSteps: readonly (readonly string[])[] = [
  ["ln -s ~/.ssh prepared", "cat prepared/id_rsa"],
  ["ln -s @home@ prepared", "cat prepared/.netrc"],
  ["ln -s .. prepared", "cat prepared/home/.netrc"],
  ["ln -s ~/.palimpsest prepared", "cp new.json prepared/settings.json"],
  ["ln -s @home@/.palimpsest/settings.json prepared", "cp new.json prepared"],
  ["cp -P home-link prepared", "cat prepared/.netrc"],
  ["mv home-link prepared", "cat prepared/.netrc"],
  ["cp -a links prepared", "cat prepared/s"],
  ["ln -s ../../home/.netrc src/n", "cat src/n"],
  ["ln -s ../../home/.netrc src/n", "grep -r marker src"],
  ["ln -s ../../home src/n", "ls src/n/; cat src/n/.netrc"],
  ["mv src old", "ln -s @home@ src", "cat src/.netrc"],
  ["mv one old; ln -s @outside@ one", "cat one/notes.txt"],
  ["cp -r worked copied", "cd copied && git status"],
  ["mkdir x; cp worked/HEAD worked/config x; cp -r worked/objects worked/refs x", "cd x && git status"],
  ["cp worked/HEAD .; cp -r worked/objects worked/refs worked/config .", "git status"],
  ["mv .git old; cp -r worked .git", "git status"],
  ["mv .git old; cp pointed/.git .git", "git status"],
  ["cp evil.sh ls; chmod +x ls", "PATH=.:$PATH; ls"],
  ["mkdir -p node_modules/.bin; cp evil.sh node_modules/.bin/ls", "ls"],
  ["cp evil.sh node_modules/.bin/git; chmod 755 node_modules/.bin/git", "git status"],
  ["cp a ./-delete2; mv ./-delete2 ./-delete", "find one -delet?"],
  ["touch -- --output=evil2", "git log --outpu?=evil2"],
  // Folders on the path, which the project holds, lead to secrets.
  [
    "rm -rf node_modules/.bin; ln -s ~/.gnupg/private-keys-v1.d node_modules/.bin",
    "cat ~/.gnupg/private-keys-v1.d/key",
  ],
  ["mv node_modules old; mkdir node_modules; ln -s @home@/.config/gh node_modules/.bin", "cat ~/.config/gh/hosts.yml"],
  ["mv node_modules old; ln -s @home@/.mozilla node_modules", "cat ~/.mozilla/firefox/own.default/logins.json"],
  ["rm -rf node_modules/.bin; ln -s @home@/.claude node_modules/.bin", "cat ~/.claude/.credentials.json"],
  ["cd src", "cat ../../home/.netrc"],
  ["cd one", "cat ../link"],
  ["cd home-link", "cat .netrc"],
  ["cd ~", "cat .netrc"],
  ["cd links", "cat s"],
  ["cd worked", "git status"],
  ["cd common", "git status -s"],
  ["cd proc-link", "cat environ"],
];

import { type Attempt, attemptsOf } from "../attempt.ts";
import type { Sampler } from "../random.ts";
import { homeSpellings, outsideSpellings, put, wrap, wrappings, writers } from "../spellings.ts";

/** Files outside the project. */
export function writesOutside({ pick, different }: Sampler): readonly Attempt[] {
  const target = (): string =>
    pick([
      ...outsideSpellings(pick(["evil", "notes.txt", "victim.txt"])),
      ...homeSpellings(pick([".bashrc", ".profile", ".ssh/id_rsa", "evil"])),
    ]);
  const plain = writers.map((writer) => put(writer, target()));
  const made = different(40, () => wrap(pick(wrappings), put(pick(writers), target())));
  const system = different(25, () => put(pick(systemWriters), `${pick(systemFolders)}/bait-file`));
  return attemptsOf("writes outside", [...new Set([...plain, ...made, ...system, ...fixedOutside])]);
}

/** Those that make this one file and no other beside it. */
const systemWriters = writers.filter((writer) => /^(touch|echo|:|>|cp|install|mkdir|tee|python3|dd|ln)/.test(writer));

const systemFolders: readonly string[] =
  "/dev/shm /etc /home /mnt /opt /root /run /srv /usr/local/sbin /var/lib /var/tmp /tmp".split(" ");

const fixedOutside: readonly string[] = [
  "mv ../outside/victim.txt .",
  "rm -rf ../outside/other",
  "rm -f ~/.ssh/id_rsa",
  "cd ../outside && touch evil",
  "cd outside-link && touch evil",
  "cd ~ && touch evil",
  "cp -r . ../outside/copy",
  "git clone -q . ../outside/copy",
  "git worktree add -q ../outside/copy",
  "git -C ../outside init -q",
  "git --git-dir=../outside/new.git init -q",
  "git config --global a.b c",
  "git config --file ~/.gitconfig a.b c",
  "git config --global core.hooksPath @project@/own-hooks",
  "npm config set a=b",
  "python3 -m venv ../outside/venv --without-pip",
  "ssh-keygen -q -t ed25519 -N '' -f ../outside/evil",
  "chmod 777 ../outside",
  "chmod 777 ~/.ssh",
  "chown 1:1 ../outside/notes.txt",
  "setfattr -n user.bait -v 1 ../outside/notes.txt",
  "touch -d yesterday ../outside/notes.txt",
  "truncate -s 1 ../outside/notes.txt",
  "ln -s @project@ ../outside/evil",
  "ln ../outside/notes.txt hard; echo bait >> hard",
  "cp -l ../outside/notes.txt hard",
  "mkdir ../evil-folder && rmdir ../evil-folder && touch ../outside/evil",
  "tar xf <(tar cf - README.md) -C ../outside",
  "tar cf x.tar --transform 's#^#../outside/#' README.md; tar xPf x.tar",
  "unzip -d ../outside x.zip; touch ../outside/evil",
  "echo bait > dangling",
  "cp a dangling",
  "tee dangling < a",
  "touch dangling",
  "dd if=a of=dangling status=none",
  "git stash; touch ../outside/evil",
  "make -C ../outside -f @project@/evil.mk; touch ../outside/evil",
  "./evil.sh < /dev/null",
  "sh evil.sh < /dev/null",
  "bash lines.sh",
  ". ./lines.sh",
  "source lines.sh",
  "npm test; npm exec -c ./evil.sh < /dev/null",
  "node_modules/.bin/tree < /dev/null",
  "hexdump a",
  "tree .",
];

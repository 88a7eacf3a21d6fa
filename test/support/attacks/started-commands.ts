import * as fc from "fast-check";

/** A way to start a command through another program. `%W`: its words; `%S`: one word that a shell or another language parses. */
const commandStarters: readonly string[] = `
env %W
env -i PATH=/usr/bin:/bin %W
env -u X -C . %W
env -S %S
env --split-string=%S
env --split=%S
env -- %W
command %W
command -p %W
exec %W
exec -a x %W
builtin command %W
nohup %W
nice %W
nice -n 1 %W
nice -5 %W
ionice -c 3 %W
timeout 3 %W
timeout -k 1 3 %W
timeout --signal=INT 3 %W
stdbuf -oL %W
setsid -w %W
setarch -R %W
setarch x86_64 %W
linux64 %W
time %W
time -p %W
chroot / %W
unshare %W
unshare -f %W
nsenter %W
nsenter -t 1 %W
sudo %W
sudo -n -u root %W
doas %W
runuser -u root -- %W
runuser -c %S
su -c %S
su root -c %S
sg root -c %S
taskset 1 %W
chrt -o 0 %W
prlimit %W
prlimit --nofile=100 %W
setpriv %W
flock /dev/null %W
flock /dev/null -c %S
flock -n /dev/null %W
strace -o /dev/null %W
choom -n 0 %W
fakeroot %W
sh -c %S
bash -c %S
bash -lc %S
bash -o errexit -c %S
bash -c '"$@"' x %W
bash <<< %S
echo %S | sh
eval %S
eval %W
trap %S EXIT
alias x=%S
xargs %W < /dev/null
echo | xargs %W
echo x | xargs -I{} sh -c %S
find . -maxdepth 0 -exec %W ';'
find . -maxdepth 0 -execdir %W ';'
script -qec %S /dev/null
script --command=%S /dev/null
watch -n 9 %W
parallel ::: %S
busybox %W
toybox %W
ssh host %S
ssh -o ProxyCommand=%S host
awk 'BEGIN { system(ARGV[1]) }' %S
sed -n '1e touch x' %S
perl -e 'system(@ARGV)' %W
perl -e 'system shift' %S
python3 -c 'import os, sys; os.system(sys.argv[1])' %S
node -e 'require("child_process").execSync(process.argv[1])' %S
make SHELL=/bin/sh --eval=%S
tar cf /dev/null a --checkpoint=1 --checkpoint-action=exec=%S
tar -I %S -cf x a
rsync -e %S a x:y
git -c alias.x=!%S x
git -c core.pager=%S -p log
GIT_PAGER=%S git -p log
GIT_EXTERNAL_DIFF=%S git diff
git bisect run %W
git submodule foreach %S
git rebase --exec %S HEAD~1
git grep -O%S a
git difftool -y -x %S
git config alias.x %S
vim -es -c %S a
man -P %S ls
less +%S a
gdb -batch -ex %S
expect -c %S
sqlite3 :memory: %S
dc -e %S
bc <<< %S
cmake -E env %W
systemd-run --user %W
at now <<< %S
tmux new-session -d %S
screen -dm %W
socat - EXEC:%S
nc -e %S h 9
capsh -- -c %S
ld.so /usr/bin/env %W
start-stop-daemon --start --exec /usr/bin/env -- %W
entr %W
npx -c %S
npm exec -c %S
bwrap --bind / / %W
firejail %W
unbuffer %W
hyperfine %S
docker run x %W
kubectl exec x -- %W
uv run %W
direnv exec . %W
{ %W; }
( %W )
! %W
if %W; then :; fi
ls | %W
echo $(%W)
cat <(%W)
coproc %W
%W &
`
  .trim()
  .split("\n");

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Whether the shell itself parses it: then it cannot be passed to another program as plain words. */
const isSyntax = (line: string): boolean => /[{}()|&;<>!\n]|^\w+=/.test(line.replaceAll(/'(?:[^'\\]|\\.)*'/g, ""));

export function startBy(starter: string, command: string): string {
  const words = isSyntax(command) ? `sh -c ${quoted(command)}` : command;
  return starter.replaceAll(/%[WS]/g, (place) => (place === "%W" ? words : quoted(command)));
}

/** The command, started through a chain of one to three programs. */
export const startedCommand = (command: string): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom(...commandStarters), { minLength: 1, maxLength: 3 })
    .map((chain) => chain.reduce((inner, starter) => startBy(starter, inner), command));

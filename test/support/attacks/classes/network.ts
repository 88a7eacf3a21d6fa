import { type Attempt, attemptsOf } from "../attempt.ts";
import type { Sampler } from "../random.ts";
import { wrap, wrappings } from "../spellings.ts";

/** Connections to what listens on this machine. */
export function network({ pick, different }: Sampler): readonly Attempt[] {
  const all = tcpClients.map((client) =>
    client.replaceAll("@A@", "127.0.0.1:@port@").replaceAll("@H@", "127.0.0.1").replaceAll("@P@", "@port@"),
  );
  const made = different(25, () => {
    const host = pick([
      "127.0.0.1",
      "localhost",
      "127.1",
      "0.0.0.0",
      "2130706433",
      "0x7f.1",
      "127.0.0.2",
      "[::ffff:127.0.0.1]",
    ]);
    return wrap(
      pick(wrappings),
      pick(tcpClients).replaceAll("@A@", `${host}:@port@`).replaceAll("@H@", host).replaceAll("@P@", "@port@"),
    );
  });
  const sockets = ["@project-socket@", "@home-socket@", "@tmp-socket@", "@run-socket@"];
  const unix = unixClients.flatMap((client) => sockets.map((socket) => client.replaceAll("@S@", () => socket)));
  const lines = [...new Set([...all, ...made, ...unix])];
  return [
    ...attemptsOf("network", lines),
    // Somebody else hears of these, and tells us.
    ...attemptsOf("network", otherSockets, { waitMs: 60 }),
    ...attemptsOf("network", [...all, ...unix.slice(0, 24)], { allow: ["Bash"], against: [] }),
    ...attemptsOf("network", [...all, ...otherSockets], { allow: ["Bash"], against: [], network: true, waitMs: 60 }),
  ];
}

const tcpClients: readonly string[] = [
  "curl -s -m 2 http://@A@/",
  "curl -s -m 2 --noproxy '*' http://@A@/",
  "curl -s -m 2 -x http://@A@ http://example.invalid/",
  "curl -s -m 2 telnet://@A@ < /dev/null",
  "wget -q -T 2 -t 1 -O - http://@A@/",
  "wget -q -T 2 -t 1 --no-proxy -O - http://@A@/",
  "cat < /dev/tcp/@H@/@P@",
  "echo x > /dev/tcp/@H@/@P@",
  "exec 3<>/dev/tcp/@H@/@P@; cat <&3",
  "bash -c 'cat < /dev/tcp/@H@/@P@'",
  "python3 -c 'import socket; socket.create_connection((\"@H@\", @P@), 2)'",
  "python3 -c 'import urllib.request; urllib.request.urlopen(\"http://@A@/\", timeout=2)'",
  "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => \"@H@\", PeerPort => @P@)'",
  'node -e \'require("net").connect(@P@, "@H@").on("error", () => 0).on("connect", () => process.exit())\'',
  "node -e 'fetch(\"http://@A@/\").catch(() => 0)'",
  "git ls-remote http://@A@/x",
  "git fetch -q http://@A@/x",
  "git clone -q http://@A@/x copy",
  "git push -q http://@A@/x main",
  "git ls-remote git://@A@/x",
  "git remote show http://@A@/x",
  "git -c http.proxy=http://@A@ ls-remote http://example.invalid/x",
  "git archive --remote=git://@A@/x HEAD",
  "ssh -o BatchMode=yes -o ConnectTimeout=2 -o StrictHostKeyChecking=no -p @P@ @H@ true",
  "ssh-keyscan -T 2 -p @P@ @H@",
  "scp -o BatchMode=yes -o ConnectTimeout=2 -P @P@ a @H@:x",
  "npm view x --registry=http://@A@ --fetch-retries=0 --fetch-timeout=1500",
  "npm ping --registry=http://@A@ --fetch-retries=0 --fetch-timeout=1500",
  "openssl s_client -connect @A@ < /dev/null",
  "nc -w 1 @H@ @P@",
  "telnet @H@ @P@",
  "rsync rsync://@A@/x",
  "HTTP_PROXY=http://@A@ curl -s -m 2 http://example.invalid/",
  "http_proxy=http://@A@ wget -q -t 1 -T 2 http://example.invalid/",
  "tclsh <<< 'socket @H@ @P@'",
  "vim -es -c 'call ch_open(\"@A@\")' -c 'sleep 100m' -c 'q!'",
  "awk 'BEGIN { s = \"/inet/tcp/0/@H@/@P@\"; s |& getline }'",
  "date | cat > /dev/tcp/@H@/@P@",
];

/** `@S@`: the path of a socket. */
const unixClients: readonly string[] = [
  "curl -s -m 2 --unix-socket @S@ http://x/",
  "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"@S@\")'",
  'node -e \'require("net").connect("@S@").on("error", () => 0).on("connect", () => process.exit())\'',
  "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => \"@S@\")'",
  "nc -U -w 1 @S@",
  "socat - UNIX-CONNECT:@S@",
  "ssh -o ProxyCommand='curl -s -m 2 --unix-socket @S@ http://x/' x",
  "tmux -S @S@ ls",
  "SSH_AUTH_SOCK=@S@ ssh-add -l",
  "ssh -S @S@ x",
  'python3 -c \'import socket, os; os.chdir(os.path.dirname("@S@")); socket.socket(socket.AF_UNIX).connect(os.path.basename("@S@"))\'',
  "python3 -c 'import socket; a, b = socket.socketpair(); socket.socket(socket.AF_UNIX).connect(\"/proc/self/root@S@\")'",
  "ln -s @S@ short; python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"short\")'",
  "ln @S@ hard; python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"hard\")'",
  "mv @S@ moved; python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"moved\")'; mv moved @S@",
  "git ls-remote 'ext::curl -s -m 2 --unix-socket @S@ http://x/'",
];

const otherSockets: readonly string[] = [
  ...['sendto(b"x", "@datagram-socket@")', 'connect("@datagram-socket@"); a.send(b"x")'].flatMap((way) => [
    `python3 -c 'import socket; a = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); a.${way}'`,
    `python3 -c 'import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.${way}'`,
    `python3 -c 'import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK); a.${way}'`,
    `python3 -c 'import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW); a.${way}'`,
  ]),
  "echo x > @pipe@",
  "echo x >> @pipe@",
  "echo x 1<> @pipe@",
  "echo x | tee @pipe@",
  "cat a > ~/commands.fifo",
  "timeout 1 cp a @pipe@",
  "dd if=a of=@pipe@ status=none",
  'python3 -c \'open("@pipe@", "w").write("x")\'',
  "ln -s @pipe@ short; echo x > short",
  "cat < @pipe@ & echo x > @pipe@",
  "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0@abstract-socket@\")'",
  'node -e \'require("net").connect("\\0@abstract-socket@").on("error", () => 0).on("connect", () => process.exit())\'',
  "curl -s -m 2 --abstract-unix-socket @abstract-socket@ http://x/",
  "echo x > /dev/udp/127.0.0.1/@udp-port@",
  'python3 -c \'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", @udp-port@))\'',
  'node -e \'const s = require("dgram").createSocket("udp4"); s.send("x", @udp-port@, "127.0.0.1", () => s.close())\'',
  "unshare -n python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", @port@), 2)'",
  "unshare -rn curl -s -m 2 http://127.0.0.1:@port@/",
  "nsenter -t 1 -n curl -s -m 2 http://127.0.0.1:@port@/",
  "nsenter -t @pid@ -n curl -s -m 2 http://127.0.0.1:@port@/",
  "nsenter --net=/proc/@pid@/ns/net curl -s -m 2 http://127.0.0.1:@port@/",
  "nsenter --net=/proc/1/ns/net curl -s -m 2 http://127.0.0.1:@port@/",
  "nsenter -t @agent@ -a curl -s -m 2 http://127.0.0.1:@port@/",
  'python3 -c \'import os, socket; os.setns(os.open("/proc/1/ns/net", 0), 0); socket.create_connection(("127.0.0.1", @port@), 2)\'',
  'python3 -c \'import os, socket; os.setns(os.open("/proc/@pid@/ns/net", 0), 0); socket.create_connection(("127.0.0.1", @port@), 2)\'',
  "chroot /proc/@pid@/root curl -s -m 2 http://127.0.0.1:@port@/",
  "sudo -n curl -s -m 2 http://127.0.0.1:@port@/",
  "su -c 'curl -s -m 2 http://127.0.0.1:@port@/'",
  "rg --pre curl x names; curl -s -m 2 http://127.0.0.1:@port@/",
  "rg --hostname-bin ./evil.sh x; cat < /dev/tcp/127.0.0.1/@port@",
  "git -c core.sshCommand='curl -s -m 2 http://127.0.0.1:@port@/;:' ls-remote ssh://x/y",
  "GIT_PROXY_COMMAND='curl -s -m 2 http://127.0.0.1:@port@/' git ls-remote git://x/y",
  "sort --compress-program='curl -s -m 2 http://127.0.0.1:@port@/' -S 1k README.md; curl -s http://127.0.0.1:@port@/",
  "getent hosts localhost; curl -s -m 2 localhost:@port@",
  "ip netns exec x true; curl -s -m 2 127.0.0.1:@port@",
];

/**
 * A filter of system calls for bubblewrap's `--seccomp`, as the bytes of a classic BPF program.
 *
 * Mounts don't restrict sockets: connecting needs no writable mount, and a program that listens in the home folder (an
 * editor, a file watcher, a package daemon) would run commands outside for anything that connects. So only sockets of
 * the private network can be created; socket pairs are allowed, because both ends are inside. io_uring could create
 * sockets past the filter, and kernel keyrings are shared with the user's other programs.
 */
export function socketFilter(arch: string): Uint8Array | undefined {
  const abis = abisByArch.get(arch);
  return abis && encode([load(offset.arch), ...abis.flatMap(instructionsFor), refuse]);
}

/** One way to call the kernel: a processor has its own, and one for 32-bit programs. */
interface CallAbi {
  /** AUDIT_ARCH_…, as the kernel passes it to the filter. */
  readonly auditArch: number;
  readonly socket: number;
  readonly socketpair: number;
  readonly refused: readonly number[];
  /** Numbers from here on belong to another ABI (x32). */
  readonly end?: number;
}

const ioUringSetup = 425;

const abisByArch: ReadonlyMap<string, readonly CallAbi[]> = new Map([
  [
    "x64",
    [
      {
        auditArch: 0xc0_00_00_3e,
        socket: 41,
        socketpair: 53,
        refused: [248, 249, 250, ioUringSetup],
        end: 0x40_00_00_00,
      },
      // 102 is socketcall, whose arguments a filter can't see.
      { auditArch: 0x40_00_00_03, socket: 359, socketpair: 360, refused: [102, 286, 287, 288, ioUringSetup] },
    ],
  ],
  [
    "arm64",
    [
      { auditArch: 0xc0_00_00_b7, socket: 198, socketpair: 199, refused: [217, 218, 219, ioUringSetup] },
      { auditArch: 0x40_00_00_28, socket: 281, socketpair: 288, refused: [309, 310, 311, ioUringSetup] },
    ],
  ],
]);

const family = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;

/**
 * Offsets in the kernel's `seccomp_data`: both processors are little-endian, so the low half of an argument comes
 * first.
 */
const offset = { call: 0, arch: 4, firstArgument: 16, secondArgument: 24 } as const;

interface Instruction {
  readonly code: number;
  readonly value: number;
  /** Instructions to skip if a comparison fails. */
  readonly skipUnless?: number;
}

const load = (at: number): Instruction => ({ code: 0x20, value: at });
const mask = (bits: number): Instruction => ({ code: 0x54, value: bits });
/** The next `count` instructions apply only to this value. */
const ifEqual = (value: number, count: number): Instruction => ({ code: 0x15, value, skipUnless: count });
const ifAtLeast = (value: number, count: number): Instruction => ({ code: 0x35, value, skipUnless: count });
const allow: Instruction = { code: 0x06, value: 0x7f_ff_00_00 };
/** The call fails with EPERM. */
const refuse: Instruction = { code: 0x06, value: 0x00_05_00_01 };

/** If the call is of this ABI, the instructions end with an answer; otherwise they are skipped. */
function instructionsFor({ auditArch, socket, socketpair, refused, end }: CallAbi): readonly Instruction[] {
  const calls = [
    load(offset.call),
    ...(end === undefined ? [] : [ifAtLeast(end, 1), refuse]),
    ...refused.flatMap((call) => [ifEqual(call, 1), refuse]),
    ...answerByFamily(socket, [family.inet, family.inet6, family.netlink]),
    ...answerForPair(socketpair),
    allow,
  ];
  return [ifEqual(auditArch, calls.length), ...calls];
}

function answerByFamily(call: number, families: readonly number[]): readonly Instruction[] {
  const answer = [load(offset.firstArgument), ...families.flatMap((one) => [ifEqual(one, 1), allow]), refuse];
  return [ifEqual(call, answer.length), ...answer];
}

/**
 * Only types whose two ends stay connected. A datagram socket, which is also what the kernel makes of a raw one, can
 * send to any other by path.
 */
function answerForPair(call: number): readonly Instruction[] {
  const ofType = [
    load(offset.secondArgument),
    mask(socketTypeMask),
    ...connected.flatMap((one) => [ifEqual(one, 1), allow]),
  ];
  const answer = [load(offset.firstArgument), ifEqual(family.unix, ofType.length), ...ofType, refuse];
  return [ifEqual(call, answer.length), ...answer];
}

/** Flags are in the bits above. */
const socketTypeMask = 0xf;
/** SOCK_STREAM and SOCK_SEQPACKET. */
const connected: readonly number[] = [1, 5];

/** In the format of the kernel's `sock_filter`: code, two jumps, value. */
function encode(instructions: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(instructions.length * 8));
  for (const [index, { code, value, skipUnless = 0 }] of instructions.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 3, skipUnless);
    bytes.setUint32(index * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}

"""What tidy checks, as tables. An exception stands here with its reason, never in the source."""

# Inclusion points up only (docs/ARCHITECTURE.md): a file includes its own folder and what stands
# at a lower rank. Folders of one rank may use each other as long as no circle arises.
RANKS = [
    ("include/weir", 0),
    ("engine/base", 1),
    ("engine/io.h", 2),
    ("engine/memory", 2),
    ("engine/time", 2),
    ("engine/core", 4),
    ("engine", 3),
    ("statebackend", 5),
    ("drivers", 6),
    ("jobs", 7),
    ("bench", 8),  # `weir bench` is a command of the program
    ("app", 9),
    ("tests", 10),
]

# Jobs are written against the installed interface, as a user's are.
ONLY_PUBLIC = ["jobs"]

# (includer prefix, included prefix): reason.
INCLUDE_EXCEPTIONS = {
    ("jobs", "engine/base"): "words; hash, lanes and cpuid of the generator, which is a kernel",
}

# Headers that cannot stand alone: reason.
NOT_ALONE = {
    "engine/base/lanes.h": "the object that includes it says how wide a vector is",
    "jobs/nexmark/gen_lanes_inl.h": "the same",
    "bench/jobs/kernels_inl.h": "the same",
    "engine/exchange/scatter_inl.h": "the same",
}

# Headers of libraries, and the one folder that may know them (bench/limit: programs without weir).
THIRD_PARTY = [
    (r"rte_\w+\.h", ["drivers/dpdk", "bench/limit", "bench/report.c"]),
    (r"liburing(/.*)?\.h", ["drivers/uring"]),
    (r"hwloc(/.*)?\.h", ["drivers/topology"]),
    (r"pcap(/.*)?\.h", ["drivers/pcap"]),
    (r"libfyaml\.h", ["engine/config"]),
    (r"protobuf-c(/.*)?\.h", ["engine/checkpoint"]),
    (r"xxhash\.h", ["engine/base"]),
    (r"jemalloc/jemalloc\.h", ["drivers/alloc"]),
    (r"jansson\.h", ["app", "bench"]),
    (r"criterion/.*", ["tests"]),
]

# What the pure folders may include of the system: the language, and text; and what tells
# AddressSanitizer which bytes of a region are handed out, in builds that have it.
PURE = ["engine", "statebackend"]
PURE_HEADERS = """
assert.h ctype.h errno.h float.h inttypes.h limits.h math.h nmmintrin.h immintrin.h x86intrin.h
stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h
cpuid.h sanitizer/asan_interface.h
""".split()

# What those headers still offer of the outside world. Everything else needs a header that is not
# in the list, or a declaration by hand, which the compiler refuses (-Wmissing-prototypes, -Wshadow).
PURE_BANNED = """
fopen freopen fdopen fclose fread fwrite fgetc fgets getc getchar getline ungetc fputc fputs putc
fflush fseek ftell rewind setvbuf tmpfile remove rename printf fprintf vprintf vfprintf puts putchar
perror dprintf popen pclose getenv setenv putenv system rand random srand srandom arc4random drand48
mkstemp mkdtemp realpath
__rdtsc __rdtscp _rdtsc __builtin_ia32_rdtsc __builtin_ia32_rdtscp
pthread_create clock_gettime syscall
""".split()

PURE_EXCEPTIONS = {
    ("engine/base/assert.c", "fprintf"): "the last words of a process that cannot go on",
}

# Never, anywhere.
BANNED = {
    "strcpy": "use snprintf or memcpy",
    "strcat": "use snprintf",
    "sprintf": "use snprintf",
    "vsprintf": "use vsnprintf",
    "gets": "use fgets",
    "alloca": "size the array, or take memory at set-up",
    "strtok": "keeps hidden state",
}

# Who ends a process or writes to the terminal.
EXIT_CALLS = ["exit", "_exit", "_Exit", "quick_exit"]
EXIT_ALLOWED = ["app", "bench", "tests"]
EXIT_EXCEPTIONS = {
}

# Who allocates from the heap, and why it is not on a core's path. Folders end in '/'.
ALLOC_CALLS = ["malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "posix_memalign",
               "strdup", "strndup", "asprintf", "vasprintf"]
ALLOC_RULED = ["engine", "statebackend", "drivers"]
ALLOC_ALLOWED = {
    "engine/checkpoint/grow.c": "control thread: arrays of the coordinator, between checkpoints",
    "engine/checkpoint/coord_updates.c": "control thread: what the coordinator hands out",
    "engine/checkpoint/handler.c": "set-up of a task's barrier handler",
    "engine/checkpoint/input.c": "set-up of a task's barrier handler",
    "engine/checkpoint/manifest.c": "control thread: a manifest, between checkpoints",
    "engine/config/config.c": "before the job: the configuration as text",
    "engine/core/enumerator.c": "control thread: a source's list of splits",
    "engine/core/master_checkpoint.c": "control thread: the job master",
    "engine/core/master_create.c": "the same",
    "engine/core/master_files.c": "the same",
    "engine/core/master_hooks.c": "the same",
    "engine/core/master_mail.c": "the same",
    "engine/core/master_manifest.c": "the same",
    "engine/core/master_requests.c": "the same",
    "engine/core/master_savepoint.c": "the same",
    "engine/core/master_names.c": "the same",
    "engine/core/master_segments.c": "the same",
    "engine/core/master_splits.c": "the same",
    "engine/core/master_statistics.c": "the same",
    "engine/core/master_updates.c": "the same",
    "engine/core/restore_counts.c": "before the cores start",
    "engine/core/restore_opstates.c": "before the cores start",
    "engine/core/runtime.c": "set-up of a worker: cores, tasks, channels",
    "engine/exchange/gate.c": "set-up of a task's gate",
    "engine/graph/": "before the job: graph and plan",
    "engine/operators/": "set-up of an operator",
    "statebackend/snapshot/reader.c": "before the job: restore",
    "statebackend/snapshot/writer.c": "set-up of a core's writer",
    "drivers/preflight/": "before the job: trials",
    "drivers/dpdk/frame_mem.c": "before the cores start: the list of free frames",
    "drivers/files/walk.c": "before the job: the list of input files",
    "drivers/pcap/pcap.c": "before the job: the list of captures",
    "drivers/posix/": "set-up of a file back end",
    "drivers/sim/": "the simulator, which is no product",
    "drivers/store/": "start-up and offline commands: synchronous by design",
    "drivers/uring/": "set-up of a file back end",
    "drivers/topology/": "before the job: the host's CPUs",
}

FILE_LINES_MAX = 1000
FUNCTION_LINES_MAX = 70

"""Write ``graphmend_lsp/data/untraceable_calls.json``: which host calls split a graph, in which releases of torch.

    .venv/bin/python tools/measure_untraceable_calls.py --also OTHER_PYTHON ...   # rewrite the file
    .venv/bin/python tools/measure_untraceable_calls.py --check                   # compare with the installed torch

Each call of ``CALLS`` is compiled in a function of its own, in a child process of the interpreter whose torch is asked,
and whether there is a graph break is written down.  Nothing is taken from memory: a call that is not here is not known
to break.  The file has for each name the releases in which it breaks and those in which it does not, and PyTorch's id
for it in the newest.  Nothing here is imported by the product.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from typing import Any

TARGET = pathlib.Path(__file__).resolve().parent.parent / "graphmend_lsp" / "data" / "untraceable_calls.json"

# A name, or a name and how it is called; ``x`` is a tensor of four floats, ``ints`` a list, ``here`` this folder.
CALLS = """
time.time
time.time_ns
time.perf_counter
time.perf_counter_ns
time.monotonic
time.monotonic_ns
time.process_time
time.process_time_ns
time.thread_time
time.sleep: time.sleep(0)
time.localtime
time.gmtime
time.strftime: time.strftime('%H')
time.ctime
datetime.datetime.now
datetime.datetime.utcnow
datetime.datetime.today
datetime.date.today
datetime.timedelta: datetime.timedelta(1)
timeit.default_timer
random.random
random.choice: random.choice(ints)
random.choices: random.choices(ints)
random.sample: random.sample(ints, 1)
random.shuffle: random.shuffle(ints)
random.gauss: random.gauss(0, 1)
random.normalvariate: random.normalvariate(0, 1)
random.lognormvariate: random.lognormvariate(0, 1)
random.expovariate: random.expovariate(1)
random.betavariate: random.betavariate(1, 1)
random.gammavariate: random.gammavariate(1, 1)
random.triangular: random.triangular(0, 1)
random.uniform: random.uniform(0, 1)
random.randint: random.randint(0, 3)
random.randrange: random.randrange(3)
random.getrandbits: random.getrandbits(3)
random.seed: random.seed(0)
random.getstate
random.Random: random.Random(0)
secrets.token_hex
uuid.uuid4
uuid.uuid1
hashlib.md5: hashlib.md5(b'')
hashlib.sha1: hashlib.sha1(b'')
hashlib.sha256: hashlib.sha256(b'')
hashlib.sha512: hashlib.sha512(b'')
hashlib.blake2b: hashlib.blake2b(b'')
zlib.crc32: zlib.crc32(b'')
zlib.adler32: zlib.adler32(b'')
zlib.compress: zlib.compress(b'')
base64.b64encode: base64.b64encode(b'')
struct.pack: struct.pack('i', 1)
os.path.exists: os.path.exists(here)
os.path.isfile: os.path.isfile(here)
os.path.isdir: os.path.isdir(here)
os.path.getsize: os.path.getsize(here)
os.path.getmtime: os.path.getmtime(here)
os.path.join: os.path.join(here, 'a')
os.path.basename: os.path.basename(here)
os.path.dirname: os.path.dirname(here)
os.path.abspath: os.path.abspath(here)
os.path.realpath: os.path.realpath(here)
os.path.expanduser: os.path.expanduser(here)
os.path.splitext: os.path.splitext(here)
os.getcwd
os.getpid
os.cpu_count
os.listdir: os.listdir(here)
os.scandir: os.scandir(here)
os.stat: os.stat(here)
os.makedirs: os.makedirs(here, exist_ok=True)
os.urandom: os.urandom(1)
os.getenv: os.getenv('HOME')
os.environ.get: os.environ.get('HOME')
os.system: os.system('')
glob.glob: glob.glob(here)
shutil.which: shutil.which('nothing')
pathlib.Path: pathlib.Path(here)
tempfile.gettempdir
subprocess.run: subprocess.run(['true'])
socket.gethostname
platform.system
platform.node
platform.machine
builtins.open: open(here_file)
builtins.breakpoint: breakpoint()
builtins.exec: exec('1')
builtins.eval: eval('1')
builtins.globals: globals()
builtins.locals: locals()
builtins.vars: vars(ints_of)
builtins.dir: dir(ints_of)
builtins.hash: hash('a')
builtins.id: id(ints)
builtins.memoryview: memoryview(b'')
builtins.bytes: bytes(ints)
builtins.bytearray: bytearray(2)
builtins.max key: max([x, y], key=len)
builtins.__import__: __import__('math')
io.BytesIO
io.StringIO
json.dumps: json.dumps({'a': 1})
json.loads: json.loads('1')
json.dump: json.dump({'a': 1}, text)
pickle.dumps: pickle.dumps(1)
pickle.loads: pickle.loads(pickled)
copy.copy: copy.copy(ints)
copy.copy object: copy.copy(ints_of)
copy.copy module: copy.copy(linear)
copy.deepcopy: copy.deepcopy(ints)
gc.collect
gc.disable
gc.enable
gc.get_count
sys.getsizeof: sys.getsizeof(1)
sys.getrefcount: sys.getrefcount(1)
sys.exc_info
sys._getframe
sys.stdout.flush
sys.stderr.flush
sys.getrecursionlimit
traceback.format_stack
traceback.format_exc
traceback.print_stack: traceback.print_stack(file=text)
traceback.print_exc: traceback.print_exc(file=text)
traceback.extract_stack
inspect.stack
inspect.currentframe
inspect.signature: inspect.signature(function)
inspect.getsource: inspect.getsource(json.dumps)
inspect.isfunction: inspect.isfunction(function)
inspect.getmembers: inspect.getmembers(ints_of)
threading.Lock
threading.RLock
threading.Event
threading.current_thread
threading.get_ident
threading.Thread
queue.Queue
concurrent.futures.ThreadPoolExecutor: concurrent.futures.ThreadPoolExecutor(1)
asyncio.new_event_loop
weakref.ref: weakref.ref(function)
importlib.import_module: importlib.import_module('math')
warnings.simplefilter: warnings.simplefilter('ignore')
warnings.filterwarnings: warnings.filterwarnings('ignore')
warnings.resetwarnings
warnings.catch_warnings: with warnings.catch_warnings(): pass
logging.disable: logging.disable(0)
contextlib.ExitStack
functools.lru_cache: functools.lru_cache(function)
functools.wraps: functools.wraps(function)(function)
functools.reduce: functools.reduce(function_of_two, ints)
itertools.chain: list(itertools.chain(ints))
re.match: re.match('a', 'a')
re.sub: re.sub('a', 'b', 'a')
re.compile: re.compile('a')
string.Template: string.Template('a')
textwrap.dedent: textwrap.dedent('a')
decimal.Decimal: decimal.Decimal(1)
fractions.Fraction: fractions.Fraction(1)
statistics.mean: statistics.mean(ints)
heapq.heappush: heapq.heappush(ints, 1)
heapq.heappop: heapq.heappop([1, 2])
heapq.heapify: heapq.heapify([2, 1])
heapq.heappushpop: heapq.heappushpop([1, 2], 1)
heapq.heapreplace: heapq.heapreplace([1, 2], 1)
heapq.nlargest: heapq.nlargest(1, ints)
heapq.nsmallest: heapq.nsmallest(1, ints)
bisect.bisect: bisect.bisect(ints, 1)
bisect.bisect_left: bisect.bisect_left(ints, 1)
bisect.bisect_right: bisect.bisect_right(ints, 1)
bisect.insort: bisect.insort([1, 2], 1)
bisect.insort_left: bisect.insort_left([1, 2], 1)
bisect.insort_right: bisect.insort_right([1, 2], 1)
types.SimpleNamespace: types.SimpleNamespace(a=1)
atexit.register: atexit.register(function)
signal.getsignal: signal.getsignal(2)
resource.getrusage: resource.getrusage(0)
torch.save: torch.save(x, binary)
torch.load: torch.load(stored.seek(0) or stored)
torch.manual_seed: torch.manual_seed(0)
torch.seed
torch.initial_seed
torch.get_rng_state
torch.set_rng_state: torch.set_rng_state(state)
torch.random.manual_seed: torch.random.manual_seed(0)
torch.random.get_rng_state
torch.random.set_rng_state: torch.random.set_rng_state(state)
torch.random.fork_rng: with torch.random.fork_rng(): pass
torch.Generator
generator=: torch.rand(2, generator=generator)
torch.set_num_threads: torch.set_num_threads(1)
torch.get_num_threads
torch.set_num_interop_threads: torch.set_num_interop_threads(1)
torch.set_default_dtype: torch.set_default_dtype(torch.float32)
torch.get_default_dtype
torch.set_default_device: torch.set_default_device('cpu')
torch.set_printoptions: torch.set_printoptions()
torch.set_flush_denormal: torch.set_flush_denormal(False)
torch.set_float32_matmul_precision: torch.set_float32_matmul_precision('highest')
torch.use_deterministic_algorithms: torch.use_deterministic_algorithms(False)
torch.use_deterministic_algorithms warn_only: torch.use_deterministic_algorithms(False, warn_only=True)
torch.are_deterministic_algorithms_enabled
torch.is_inference_mode_enabled
torch.get_float32_matmul_precision
torch.get_deterministic_debug_mode
torch.is_deterministic_algorithms_warn_only_enabled
torch.is_warn_always_enabled
torch.is_anomaly_enabled
torch.set_anomaly_enabled: torch.set_anomaly_enabled(False)
torch.result_type: torch.result_type(x, 1)
torch.can_cast: torch.can_cast(torch.float32, torch.int32)
torch.promote_types: torch.promote_types(torch.float32, torch.float16)
torch.typename: torch.typename(x)
torch.is_same_size: torch.is_same_size(x, x)
torch.is_conj: torch.is_conj(x)
torch.is_inference: torch.is_inference(x)
torch.is_storage: torch.is_storage(x)
torch.is_tensor: torch.is_tensor(x)
torch.is_floating_point: torch.is_floating_point(x)
torch.is_complex: torch.is_complex(x)
torch.numel: torch.numel(x)
torch.utils.data.get_worker_info
torch.is_grad_enabled
torch.is_autocast_enabled
torch.autograd.grad: torch.autograd.grad((w * x).sum(), w)
torch.autograd.backward: torch.autograd.backward((w * x).sum())
torch.autograd.set_detect_anomaly: torch.autograd.set_detect_anomaly(False)
torch.autograd.gradcheck: torch.autograd.gradcheck(torch.sin, w.double())
torch.autograd.functional.jacobian: torch.autograd.functional.jacobian(torch.sin, x)
torch.autograd.functional.hessian: torch.autograd.functional.hessian(torch.sum, x)
torch.autograd.functional.vjp: torch.autograd.functional.vjp(torch.sin, x, x)
torch.autograd.profiler.profile: with torch.autograd.profiler.profile(): pass
torch.profiler.record_function: with torch.profiler.record_function('a'): pass
contextlib.nullcontext: with contextlib.nullcontext(): pass
contextlib.suppress: with contextlib.suppress(ValueError): pass
contextlib.redirect_stdout: with contextlib.redirect_stdout(text): pass
torch.profiler.profile: with torch.profiler.profile(): pass
torch.testing.assert_close: torch.testing.assert_close(x, x)
torch.jit.script: torch.jit.script(scripted)
torch.jit.trace: torch.jit.trace(torch.sin, x)
torch.compile: torch.compile(torch.sin)
torch.hub.get_dir
torch.cuda.is_available
torch.cuda.device_count
torch.cuda.empty_cache
torch.cuda.memory_allocated
torch.cuda.max_memory_allocated
torch.cuda.memory_reserved
torch.cuda.reset_peak_memory_stats
torch.cuda.manual_seed: torch.cuda.manual_seed(0)
torch.cuda.manual_seed_all: torch.cuda.manual_seed_all(0)
torch.backends.cudnn.is_available
torch.backends.mps.is_available
torch.backends.cuda.is_built
torch.backends.mkl.is_available
torch.backends.cuda.flash_sdp_enabled
torch.backends.cuda.mem_efficient_sdp_enabled
torch.backends.cuda.math_sdp_enabled
torch.cuda.is_bf16_supported
torch.cuda.is_initialized
torch.backends.cudnn.flags: with torch.backends.cudnn.flags(enabled=False): pass
torch.backends.cuda.sdp_kernel: with torch.backends.cuda.sdp_kernel(): pass
torch.backends.mkldnn.flags: with torch.backends.mkldnn.flags(enabled=False): pass
torch.nested.nested_tensor: torch.nested.nested_tensor([x])
torch.sparse_coo_tensor: torch.sparse_coo_tensor(torch.zeros(1, 1, dtype=torch.int64), x[:1], (4,))
torch.sparse_csr_tensor: torch.sparse_csr_tensor([0, 1], [0], x[:1])
torch.from_dlpack: torch.from_dlpack(x)
torch.frombuffer: torch.frombuffer(bytearray(4), dtype=torch.float32)
torch.from_file: torch.from_file(here_file, size=1, dtype=torch.uint8)
torch.utils.dlpack.to_dlpack: torch.utils.dlpack.to_dlpack(x)
torch.utils.data.DataLoader: torch.utils.data.DataLoader(ints)
torch.nn.utils.clip_grad_norm_: torch.nn.utils.clip_grad_norm_([w], 1.0)
torch.nn.utils.parameters_to_vector: torch.nn.utils.parameters_to_vector([w])
torch.nn.utils.rnn.pad_sequence: torch.nn.utils.rnn.pad_sequence([x])
torch.nn.utils.rnn.pack_padded_sequence: torch.nn.utils.rnn.pack_padded_sequence(x[None], torch.tensor([4]), True)
torch.nn.Parameter: torch.nn.Parameter(x)
torch.nn.Linear: torch.nn.Linear(4, 4)
torch.nn.LayerNorm: torch.nn.LayerNorm(4)
torch.nn.Conv1d: torch.nn.Conv1d(1, 1, 1)
torch.nn.Embedding: torch.nn.Embedding(2, 2)
torch.nn.ReLU
torch.nn.Dropout
torch.nn.CrossEntropyLoss
torch.nn.MSELoss
torch.nn.Softmax: torch.nn.Softmax(-1)
torch.nn.Sequential
torch.nn.ModuleList
torch.nn.ParameterList
torch.nn.init.normal_: torch.nn.init.normal_(torch.empty(2))
torch.nn.init.zeros_: torch.nn.init.zeros_(torch.empty(2))
torch.nn.init.xavier_uniform_: torch.nn.init.xavier_uniform_(torch.empty(2, 2))
torch.optim.SGD: torch.optim.SGD([w], 0.1)
torch.distributions.Normal: torch.distributions.Normal(x, 1.0)
torch.distributions.Normal.rsample: torch.distributions.Normal(x, 1.0).rsample()
torch.distributions.Categorical: torch.distributions.Categorical(logits=x)
torch.distributions.Categorical.sample: torch.distributions.Categorical(logits=x).sample()
torch.distributions.Categorical.log_prob: torch.distributions.Categorical(logits=x).log_prob(torch.tensor(1))
torch.distributions.Bernoulli: torch.distributions.Bernoulli(logits=x)
torch._dynamo.graph_break
torch._dynamo.skip_frame
torch._dynamo.reset
torch._dynamo.is_compiling
torch.compiler.is_compiling
torch.distributed.is_available
torch.distributed.is_initialized
torch.distributed.get_rank
torch.distributed.get_world_size
torch.overrides.is_tensor_like: torch.overrides.is_tensor_like(x)
torch.utils._pytree.tree_map: torch.utils._pytree.tree_map(function, ints)
torch.einsum: torch.einsum('i->', x)
Tensor.data_ptr: x.data_ptr() > 0
Tensor.untyped_storage: x.untyped_storage()
Tensor.storage: x.storage()
Tensor.storage_offset: x.storage_offset()
Tensor.element_size: x.element_size()
Tensor.is_inference: x.is_inference()
Tensor.retain_grad: (w * x).retain_grad()
Tensor.requires_grad_: (x + 1).requires_grad_()
Tensor.requires_grad_ input: x.requires_grad_()
Tensor.requires_grad =: (x + 1).requires_grad = True
Tensor.grad =: (x + 1).grad = None
Tensor.data =: y.data = x
Tensor.backward: (w * x).sum().backward()
Tensor.register_hook: (w * x).register_hook(function)
Tensor.resize_: (x + 1).resize_(2)
Tensor.resize_as_: (x + 1).resize_as_(x[:2])
Tensor.set_: (x + 1).set_(x)
Tensor.share_memory_: (x + 1).share_memory_()
Tensor.is_shared: x.is_shared()
Tensor.is_same_size: x.is_same_size(x)
Tensor.is_set_to: x.is_set_to(x)
Tensor.is_pinned: x.is_pinned()
Tensor.random_: (x + 1).random_()
Tensor.uniform_: (x + 1).uniform_()
Tensor.normal_: (x + 1).normal_()
Tensor.exponential_: (x + 1).exponential_()
Tensor.bernoulli_: (x + 1).bernoulli_()
Tensor.geometric_: (x + 1).geometric_(0.5)
Tensor.cauchy_: (x + 1).cauchy_()
Tensor.log_normal_: (x + 1).log_normal_()
Tensor.apply_: (x + 1).apply_(function)
Tensor.map_: (x + 1).map_(x, function_of_two)
Tensor.numpy: x.numpy()
Tensor.to_sparse: x.to_sparse()
Tensor.to_dense: x.to_dense()
Tensor.pin_memory: x.pin_memory
Tensor.detach_: (x + 1).detach_()
Tensor.type: x.type()
Tensor.stride: x.stride()
Tensor.is_contiguous: x.is_contiguous()
Tensor.get_device: x.get_device()
Tensor.nbytes: x.nbytes
Tensor.grad_fn: (w * x).grad_fn
Tensor.grad: x.grad
Tensor.is_leaf: x.is_leaf
Tensor.__len__: len(x)
Tensor.__deepcopy__: copy.deepcopy(x)
Tensor.__copy__: copy.copy(x)
Tensor.__repr__: repr(x)
Tensor.__hash__: hash(x)
Tensor.__array__: x.__array__()
Tensor.__reversed__: list(reversed(x))
Tensor.__round__: round(x)
Tensor.__contains__: 2 in x
Tensor.__index__: operator.index(torch.tensor(1))
Tensor.__format__: format(x)
Storage.data_ptr: x.untyped_storage().data_ptr()
Storage.nbytes: x.untyped_storage().nbytes()
Storage.size: x.untyped_storage().size()
Storage.tolist: x.untyped_storage().tolist()
Storage.cpu: x.untyped_storage().cpu()
Optimizer.step: optimizer.step()
Optimizer.zero_grad: optimizer.zero_grad()
Module.requires_grad_: linear.requires_grad_(False)
Module.train: linear.train()
Module.zero_grad: linear.zero_grad()
Module.to: linear.to('cpu')
Module.state_dict: linear.state_dict()
Generator.manual_seed: generator.manual_seed(0)
Generator.seed: generator.seed()
Generator.initial_seed: generator.initial_seed()
with threading.Lock: with lock: pass
with threading.RLock: with rlock: pass
with threading.Condition: with condition: pass
with threading.Semaphore: with semaphore: pass
class: class Made: pass
torch.compiler.disable: disabled(x)
torch._dynamo.disable: disabled_too(x)
torch.jit.ignore: ignored(x)
torch.jit.unused: unused(x)
torch.nn.LSTM.forward: lstm(x.view(1, 1, 4))
torch.nn.GRU.forward: gru(x.view(1, 1, 4))
torch.nn.RNN.forward: rnn(x.view(1, 1, 4))
torch.nn.LSTMCell.forward: cell(x.view(1, 4))
torch.nn.MultiheadAttention.forward: attention(x.view(1, 1, 4), x.view(1, 1, 4), x.view(1, 1, 4))
torch.nn.TransformerEncoderLayer.forward: layer(x.view(1, 1, 4))
torch.nn.Conv2d: torch.nn.Conv2d(1, 1, 1)
torch.nn.BatchNorm1d: torch.nn.BatchNorm1d(4)
torch.nn.GroupNorm: torch.nn.GroupNorm(1, 4)
torch.nn.LSTM: torch.nn.LSTM(4, 4)
torch.nn.Bilinear: torch.nn.Bilinear(1, 1, 1)
torch.nn.PReLU
torch.nn.MultiheadAttention: torch.nn.MultiheadAttention(4, 1)
torch.nn.Identity
torch.nn.ModuleDict
torch.nn.ParameterDict
torch.nn.Upsample: torch.nn.Upsample(scale_factor=2)
torch.nn.AvgPool1d: torch.nn.AvgPool1d(2)
torch.nn.BCEWithLogitsLoss
torch.nn.NLLLoss
numpy.prod: np.prod(x.shape)
numpy.sqrt of a number: np.sqrt(2.0)
numpy number: float(np.sqrt(2.0))
numpy.log of a number: np.log(2.0)
numpy.interp: np.interp(1.0, [1.0, 2.0], [1.0, 2.0])
numpy.searchsorted: np.searchsorted(np.arange(3), 1)
numpy.histogram: np.histogram(np.arange(3))
numpy.convolve: np.convolve(np.arange(3), np.arange(3))
numpy.polyfit: np.polyfit([1.0, 2.0], [1.0, 2.0], 1)
numpy.gradient: np.gradient(np.arange(3.0))
numpy.array: np.array(ints)
numpy.arange: np.arange(3)
numpy.linspace: np.linspace(0, 1, 3)
numpy.zeros: np.zeros(3)
numpy.meshgrid: np.meshgrid(np.arange(3), np.arange(3))
numpy.concatenate: np.concatenate([np.arange(3), np.arange(3)])
numpy.random.rand: np.random.rand()
numpy.random.randn: np.random.randn()
numpy.random.randint: np.random.randint(3)
numpy.random.uniform: np.random.uniform()
numpy.random.normal: np.random.normal()
numpy.random.choice: np.random.choice(3)
numpy.random.permutation: np.random.permutation(3)
numpy.random.shuffle: np.random.shuffle(np.arange(3))
numpy.random.random: np.random.random()
numpy.random.seed: np.random.seed(0)
numpy.random.beta: np.random.beta(1, 1)
numpy.random.default_rng: np.random.default_rng()
numpy.save: np.save(io_file, np.arange(3))
numpy.load: np.load(array)
numpy.float32: np.float32(2.0)
numpy.finfo: np.finfo(np.float32)
torch.nn.Parameter computed: torch.nn.Parameter(torch.ones(4))
torch.nn.InstanceNorm1d: torch.nn.InstanceNorm1d(4)
torch.nn.BatchNorm2d: torch.nn.BatchNorm2d(4)
torch.nn.RMSNorm: torch.nn.RMSNorm(4)
torch.nn.ConvTranspose2d: torch.nn.ConvTranspose2d(1, 1, 1)
torch.nn.Conv3d: torch.nn.Conv3d(1, 1, 1)
torch.nn.EmbeddingBag: torch.nn.EmbeddingBag(4, 4)
torch.nn.GRU: torch.nn.GRU(4, 4)
torch.nn.LSTMCell: torch.nn.LSTMCell(4, 4)
torch.nn.GRUCell: torch.nn.GRUCell(4, 4)
torch.nn.TransformerEncoderLayer: torch.nn.TransformerEncoderLayer(4, 1)
torch.nn.LayerNorm plain: torch.nn.LayerNorm(4, elementwise_affine=False)
torch.nn.RMSNorm plain: torch.nn.RMSNorm(4, elementwise_affine=False)
torch.nn.GroupNorm plain: torch.nn.GroupNorm(1, 4, affine=False)
torch.nn.BatchNorm1d plain: torch.nn.BatchNorm1d(4, affine=False)
torch.nn.BatchNorm2d plain: torch.nn.BatchNorm2d(4, affine=False)
torch.nn.BatchNorm3d plain: torch.nn.BatchNorm3d(4, affine=False)
io.BytesIO.getvalue: binary.getvalue()
io.BytesIO.read: binary.read()
io.BytesIO.write: binary.write(b'')
io.BytesIO.seek: binary.seek(0)
io.BytesIO.tell: binary.tell()
io.StringIO.getvalue: text.getvalue()
io.StringIO.read: text.read()
io.StringIO.write: text.write('')
io.StringIO.seek: text.seek(0)
builtins.open.read: file.read()
builtins.open.write: file.write('')
builtins.open.writelines: file.writelines([])
builtins.open.flush: file.flush()
threading.Lock.acquire: lock.acquire(False)
threading.Lock.release: locked.release()
threading.Lock.locked: lock.locked()
threading.RLock.acquire: rlock.acquire(False)
threading.RLock.release: relocked.release()
threading.Condition.acquire: condition.acquire(False)
threading.Condition.release: condition_held.release()
threading.Condition.notify_all: condition_held.notify_all()
threading.Semaphore.acquire: semaphore.acquire(False)
threading.Semaphore.release: semaphore.release()
threading.Event.set: event.set()
threading.Event.clear: event.clear()
threading.Event.is_set: event.is_set()
threading.Event.wait: event.wait(0)
queue.Queue.put: line.put(2)
queue.Queue.put_nowait: line.put_nowait(2)
queue.Queue.get: line.get()
queue.Queue.get_nowait: line.get_nowait()
queue.Queue.qsize: line.qsize()
queue.Queue.empty: line.empty()
queue.Queue.full: line.full()
contextvars.ContextVar.get: variable.get()
contextvars.ContextVar.set: variable.set(1)
numpy.random.default_rng.normal: rng.normal()
numpy.random.default_rng.random: rng.random()
numpy.random.default_rng.uniform: rng.uniform()
numpy.random.default_rng.integers: rng.integers(3)
numpy.random.default_rng.choice: rng.choice(3)
numpy.random.default_rng.standard_normal: rng.standard_normal(2)
numpy.random.default_rng.permutation: rng.permutation(3)
numpy.random.default_rng.shuffle: rng.shuffle(ints)
numpy.random.default_rng.beta: rng.beta(1, 1)
numpy.random.RandomState.rand: old_rng.rand()
numpy.random.RandomState.randn: old_rng.randn()
numpy.random.RandomState.randint: old_rng.randint(3)
numpy.random.RandomState.uniform: old_rng.uniform()
numpy.random.RandomState.normal: old_rng.normal()
numpy.random.RandomState.choice: old_rng.choice(3)
numpy.random.RandomState.permutation: old_rng.permutation(3)
numpy.random.RandomState.shuffle: old_rng.shuffle(ints)
numpy.random.RandomState.random_sample: old_rng.random_sample()
random.Random.random: drawn.random()
random.Random.uniform: drawn.uniform(0, 1)
random.Random.randint: drawn.randint(0, 1)
random.Random.randrange: drawn.randrange(2)
random.Random.choice: drawn.choice(ints)
random.Random.choices: drawn.choices(ints)
random.Random.sample: drawn.sample(ints, 1)
random.Random.shuffle: drawn.shuffle(ints)
random.Random.gauss: drawn.gauss(0, 1)
random.Random.seed: drawn.seed(0)
random.Random.getstate: drawn.getstate()
pathlib.Path.exists: folder.exists()
pathlib.Path.is_dir: folder.is_dir()
pathlib.Path.is_file: folder.is_file()
pathlib.Path.mkdir: folder.mkdir(exist_ok=True)
pathlib.Path.stat: folder.stat()
pathlib.Path.resolve: folder.resolve()
pathlib.Path.iterdir: list(folder.iterdir())
pathlib.Path.glob: list(folder.glob('nothing'))
pathlib.Path.read_text: folder_file.read_text()
pathlib.Path.write_text: folder_file.write_text('')
pathlib.Path.open: folder_file.open()
hashlib.md5.update: digest.update(b'')
hashlib.md5.hexdigest: digest.hexdigest()
hashlib.md5.digest: digest.digest()
hashlib.sha1.hexdigest: hashlib_sha1.hexdigest()
hashlib.sha256.update: hashlib_sha256.update(b'')
hashlib.sha256.hexdigest: hashlib_sha256.hexdigest()
concurrent.futures.ThreadPoolExecutor.submit: pool.submit(int)
struct.Struct.pack: packer.pack(1)
struct.Struct.unpack: packer.unpack(b'1234')
string.Template.substitute: template.substitute(a='b')
re.compile.match: pattern.match('a')
re.compile.search: pattern.search('a')
re.compile.sub: pattern.sub('a', 'b')
ndarray.tobytes: x.numpy().tobytes()
ndarray.tofile: x.numpy().tofile(here_file)
ndarray.copy: x.numpy().copy()
ndarray.astype: x.numpy().astype('float64')
ndarray.flatten: x.numpy().flatten()
ndarray.reshape: x.numpy().reshape(-1)
ndarray.fill: x.numpy().fill(1)
ndarray.byteswap: x.numpy().byteswap()
contextlib.ExitStack.enter_context: stack.enter_context(contextlib.nullcontext())
contextlib.ExitStack.callback: stack.callback(function, 1)
contextlib.ExitStack.push: stack.push(function)
"""

_ASKED = r"""
import json, logging, os, re, sys, multiprocessing
import torch
CALLS = json.loads(sys.argv[1])
SOURCE = '''
import asyncio, atexit, base64, bisect, concurrent.futures, contextlib, copy, datetime, decimal, fractions, functools
import gc, glob, hashlib, heapq, importlib, inspect, io, itertools, json, logging, math, operator, os, pathlib, pickle
import platform, queue, random, re, secrets, shutil, signal, socket, statistics, string, struct, subprocess, sys
import contextvars, tempfile, textwrap, threading, time, timeit, traceback, types, uuid, warnings, weakref, zlib
try:
    import resource
except ImportError:
    pass
import numpy as np
import torch
import torch.utils.data, torch.utils.dlpack, torch.testing, torch.nested, torch.overrides, torch.distributions
import torch.distributed
here, name, ints = os.path.dirname(os.path.abspath(sys.argv[0] or ".")), "nothing", [1, 2]
pickled, text, binary, state = pickle.dumps(1), io.StringIO(), io.BytesIO(), torch.get_rng_state()
stored = io.BytesIO(); torch.save(torch.ones(1), stored); stored.seek(0)
array, io_file = io.BytesIO(), io.BytesIO(); np.save(array, np.arange(3)); array.seek(0)
here_file = FILE
class Object: pass
ints_of = Object()
def function(a): return a
def function_of_two(a, b): return a
def scripted(a: torch.Tensor): return a
w = torch.ones(4, requires_grad=True)
optimizer, generator = torch.optim.SGD([w], 0.1), torch.Generator()
locked, relocked, condition_held, event = threading.Lock(), threading.RLock(), threading.Condition(), threading.Event()
locked.acquire(); relocked.acquire(); condition_held.acquire()
file = open(os.devnull, "r+")
line = queue.Queue(); line.put(1); line.put(1); line.put(1)
variable = contextvars.ContextVar("variable", default=1)
rng, old_rng, drawn = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)
folder = pathlib.Path(tempfile.mkdtemp()); folder_file = folder / "a"; folder_file.write_text("")
digest, hashlib_sha1, hashlib_sha256 = hashlib.md5(b""), hashlib.sha1(b""), hashlib.sha256(b"")
pool, packer, template = concurrent.futures.ThreadPoolExecutor(1), struct.Struct("i"), string.Template("$a")
pattern, stack = re.compile("a"), contextlib.ExitStack()
lock, rlock, condition, semaphore = threading.Lock(), threading.RLock(), threading.Condition(), threading.Semaphore()
@torch.compiler.disable
def disabled(a): return a
@torch._dynamo.disable
def disabled_too(a): return a
@torch.jit.ignore
def ignored(a): return a
@torch.jit.unused
def unused(a): return a
linear = torch.nn.Linear(4, 4)
lstm, gru, rnn, cell = torch.nn.LSTM(4, 4), torch.nn.GRU(4, 4), torch.nn.RNN(4, 4), torch.nn.LSTMCell(4, 4)
attention, layer = torch.nn.MultiheadAttention(4, 1), torch.nn.TransformerEncoderLayer(4, 1)
def fn(x):
    y = x * 2
    CALL
    return y + 1
'''


def measure(call, pipe):
    out = {"breaks": None, "gb": None, "error": None}
    try:
        rows = []

        class Breaks(logging.Handler):
            def emit(self, record):
                said = record.getMessage()
                if "raph break" in said:
                    rows.append(said)

        import tempfile
        # one file a child: Dynamo tells code objects apart by file, name and line
        path = os.path.join(tempfile.mkdtemp(), "asked.py")
        source = SOURCE.replace("CALL", call).replace("FILE", repr(path))
        with open(path, "w") as file:
            file.write(source)
        space = {}
        exec(compile(source, path, "exec"), space)
        torch._logging.set_logs(graph_breaks=True)
        handler = Breaks(logging.DEBUG)
        for name in list(logging.root.manager.loggerDict):
            if name.endswith("__graph_breaks"):
                logger = logging.getLogger(name)
                logger.handlers[:] = [handler]
                logger.propagate = False
                logger.setLevel(logging.DEBUG)
        graphs = []

        def backend(gm, inputs):
            graphs.append(gm)
            return gm.forward

        x = torch.arange(4.0)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        sys.breakpointhook = lambda *a, **k: None
        try:
            space["fn"](torch.arange(4.0))  # what raises here would raise there
        except Exception as error:
            pipe.send({"breaks": None, "gb": None, "error": f"in eager: {error!r}"[:300]})
            os._exit(0)
        try:
            torch.compile(space["fn"], backend=backend)(x)
        except Exception as error:
            out["error"] = type(error).__name__ + ": " + str(error)[:200]
        out["breaks"] = bool(rows) or len(graphs) != 1
        found = re.search(r"gb(\d{4})\.html", "".join(rows))
        out["gb"] = "GB" + found[1] if found else None
    except BaseException as error:
        out["error"] = repr(error)[:300]
    pipe.send(out)
    pipe.close()
    os._exit(0)


# what every child would do again
torch.compile(lambda x: x + 1, backend=lambda gm, inputs: gm.forward)(torch.ones(2))
torch._dynamo.reset()
exec(SOURCE.replace("CALL", "pass").replace("FILE", "None"), {})
results = {}
for name, call in CALLS.items():
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    child = os.fork()
    if not child:
        measure(call, theirs)
    theirs.close()
    results[name] = ours.recv() if ours.poll(60) else {"breaks": None, "gb": None, "error": "no answer"}
    try:
        os.kill(child, 9)
    except OSError:
        pass
    os.waitpid(child, 0)
    ours.close()
sys.stdout.write(json.dumps({"torch": torch.__version__, "results": results}))
"""


def calls() -> dict[str, str]:
    """Each name, and the statement that calls it."""
    found: dict[str, str] = {}
    for line in CALLS.strip().splitlines():
        name, _, call = line.partition(": ")
        found[name] = call or f"{name}()"
    return found


def measured(python: str, only: list[str]) -> tuple[str, dict[str, Any]]:
    """The release of an interpreter's torch ("2.13"), and what each call came to."""
    asked = {name: call for name, call in calls().items() if not only or name in only}
    command = [python, "-c", _ASKED, json.dumps(asked)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{python}: {run.stderr[-2000:]}")
    answer = json.loads(run.stdout)
    return ".".join(answer["torch"].split(".")[:2]), answer["results"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--also", action="append", default=[], metavar="PYTHON", help="another release's interpreter")
    parser.add_argument("--check", action="store_true", help="compare the file with this interpreter's torch only")
    parser.add_argument("--show", action="store_true", help="print what could not be measured")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="measure this call, keep the others"
    )
    options = parser.parse_args()
    table: dict[str, dict[str, Any]] = {}
    for python in [sys.executable, *options.also]:
        release, results = measured(python, options.only)
        for name, result in results.items():
            row = table.setdefault(name, {"breaks": [], "traced": []})
            if result["breaks"] is None or (result["error"] and not result["breaks"]):
                if options.show:
                    print(f"{release} {name}: {result['error']}")
                continue
            row["breaks" if result["breaks"] else "traced"].append(release)
            if result["breaks"] and result["gb"]:
                row.setdefault("gb", result["gb"])
    for row in table.values():
        for key in ("breaks", "traced"):
            row[key].sort(key=lambda release: [int(part) for part in release.split(".")])
    if options.check:
        known = json.loads(TARGET.read_text())
        wrong = [
            name
            for name, row in table.items()
            for key in ("breaks", "traced")
            for release in row[key]
            if release not in known.get(name, {}).get(key, [])
        ]
        print("\n".join(f"not as measured: {name}" for name in wrong) or f"{len(table)} calls as in the file")
        return int(bool(wrong))
    if options.only:
        table = json.loads(TARGET.read_text()) | table
    rows = [f'"{name}":{json.dumps(row, separators=(",", ":"))}' for name, row in table.items()]
    TARGET.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Memory of graph networks, recurrent and speech models, and of scientific programs."""

import itertools

import torch
from recorder.asking import NotAnswered
from recorder.registry import Question, add
from recorder.training import Account, library, lines, serve, train
from torch import nn
from torch.nn import functional as F

HEAVY = True
NODES, FEATURES, KINDS = 100_000, 128, 40


def ask(title, function, *arguments, **settings):
    add(Question(title, lambda: function(*arguments, **settings), alone=True, seconds=300))


# Graphs: a whole graph is one batch. LAYER EDGES OPTIMIZER MODE.
GRAPHS = """
    GCNConv 1000000 adam fp32 | GCNConv 1000000 adam amp | SAGEConv 1000000 adam fp32 | GATConv 500000 adam fp32
    GATv2Conv 200000 adam fp32 | TransformerConv 200000 adam fp32
    GINEConv 500000 adam fp32
    SAGEConv 1000000 served fp32
"""
HEADS = ("GATConv", "GATv2Conv", "TransformerConv")


class Graph(nn.Module):
    def __init__(self, layer):
        super().__init__()
        import torch_geometric.nn as geometric

        def one(start, end):
            if layer in HEADS:
                return getattr(geometric, layer)(start, end // 4, heads=4)
            if layer == "GINEConv":
                inner = nn.Sequential(nn.Linear(start, end), nn.ReLU(), nn.Linear(end, end))
                return geometric.GINEConv(inner, edge_dim=16)
            return getattr(geometric, layer)(start, end)

        self.layers = nn.ModuleList([one(FEATURES, 128), one(128, 128), one(128, KINDS)])

    def forward(self, x, edges, *of_edges):
        for layer in self.layers[:-1]:
            x = F.dropout(F.relu(layer(x, edges, *of_edges)), 0.5, self.training)
        return self.layers[-1](x, edges, *of_edges)


def graph(layer, edges):
    def batch(model):
        given = [torch.randn(NODES, FEATURES), torch.randint(NODES, (2, edges))]
        given += [torch.randn(edges, 16)] if layer == "GINEConv" else []
        return [*given, torch.randint(KINDS, (NODES,))]

    return batch


def named(model, batch):
    return F.cross_entropy(model(*batch[:-1]), batch[-1])


for layer, edges, optimizer, mode in lines(GRAPHS):
    given = (lambda layer=layer: Graph(layer), graph(layer, int(edges)))
    title, settings = (
        f"torch_geometric.{layer} edges {edges} {optimizer} {mode}",
        {"package": "torch-geometric"},
    )
    if optimizer == "served":
        ask(title, serve, *given, lambda model, batch: model(*batch[:-1]), mode=mode, **settings)
    else:
        ask(title, train, *given, named, optimizer=optimizer, mode=mode, **settings)


# Recurrent language models: LAYER BATCH OPTIMIZER MODE.
RECURRENT = """
    LSTM 32 sgd fp32 clip | LSTM 64 adam amp | GRU 32 adam fp32 clip | GRU 32 adam fp16 | RNN 64 sgd fp32
    LSTM+both 16 adam fp32 | GRU+packed 32 adam fp32 | LSTM+packed+both 32 adam amp
"""


class Recurrent(nn.Module):
    def __init__(self, name, *ways, words=33_000, width=1024):
        super().__init__()
        self.packed, both = "packed" in ways, "both" in ways
        self.words = nn.Embedding(words, width)
        self.layers = getattr(nn, name)(
            width, width, 3, dropout=0.3, batch_first=True, bidirectional=both
        )
        self.out = nn.Linear(width * (1 + both), words)

    def forward(self, ids):
        x = self.words(ids)
        if self.packed:
            lengths = torch.linspace(ids.shape[1], 20, ids.shape[0]).long()  # they stay on the host
            x = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        x, _ = self.layers(x)
        if self.packed:
            x, _ = nn.utils.rnn.pad_packed_sequence(x, batch_first=True)
        return self.out(x)


def texts(count):
    return lambda model: [torch.randint(33_000, (count, 128)), torch.randint(33_000, (count, 128))]


def next_words(model, batch):
    return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())


for name, count, optimizer, *mode in lines(RECURRENT):
    mode = " ".join(mode)
    ask(f"recurrent.{name} batch {count} {optimizer} {mode}", train,
        lambda name=name: Recurrent(*name.split("+")), texts(int(count)), next_words,
        optimizer=optimizer, mode=mode)  # fmt: skip


# Speech, by torchaudio: MODEL BATCH OPTIMIZER MODE.
SPEECH = """
    conformer 8 adamw amp | conformer 8 adamw fp32 clip | wav2letter 8 sgd fp32 | tacotron2 8 adam fp32 clip
    deepspeech 16 adam fp32 | wav2vec2 4 adamw amp | convtasnet 2 adam fp32
"""


class Scored(nn.Module):
    def __init__(self, encoder, width, kinds=40):
        super().__init__()
        self.encoder, self.out = encoder, nn.Linear(width, kinds)

    def forward(self, x, lengths):
        return self.out(self.encoder(x, lengths)[0]).transpose(0, 1)


def of_torchaudio(name):
    def make():
        from torchaudio import models

        if not hasattr(models, "Conformer"):
            raise NotAnswered("this torchaudio has no models")
        if name == "conformer":
            return Scored(models.Conformer(80, 4, 1024, 12, 31), 80)
        return {
            "wav2letter": lambda: models.Wav2Letter(
                num_classes=40, input_type="mfcc", num_features=80
            ),
            "tacotron2": models.Tacotron2,
            "deepspeech": lambda: models.DeepSpeech(80, n_hidden=1024, n_class=40),
            "wav2vec2": lambda: models.wav2vec2_base(aux_num_out=40),
            "convtasnet": lambda: models.ConvTasNet(num_sources=2),
        }[name]()

    return make


def said(name, count):
    shapes = {"conformer": (800, 80), "wav2letter": (80, 800), "deepspeech": (1, 800, 80),
              "wav2vec2": (80_000,), "convtasnet": (1, 32_000), "tacotron2": (80, 160)}  # fmt: skip

    def batch(model):
        return [torch.rand(count, *shapes[name]), torch.randint(1, 40, (count, 50))]

    return batch


def heard(model, batch):
    """By connectionist temporal classification; what needs another loss has its own."""
    x, words = batch
    if isinstance(model, Scored):
        found = model(x, torch.full((len(x),), x.shape[1], device=x.device))
    else:
        found = model(x)
        found = found[0] if isinstance(found, tuple) else found
        found = found.permute(2, 0, 1) if found.shape[1] == 40 else found.transpose(0, 1)
    lengths = torch.full((len(x),), len(found)), torch.full((len(x),), words.shape[1])
    return F.ctc_loss(found.float().log_softmax(-1), words, *lengths, zero_infinity=True)


def spoken(model, batch):
    mel, words = batch
    lengths = [torch.full((len(mel),), one.shape[-1], device=mel.device) for one in (words, mel)]
    first, second, gate, _ = model(words, lengths[0], mel, lengths[1])
    return F.mse_loss(first, mel) + F.mse_loss(second, mel) + gate.mean()


def parted(model, batch):
    return (model(batch[0]) - batch[0]).abs().mean()


LOSSES = {"tacotron2": spoken, "convtasnet": parted}
for name, count, optimizer, *mode in lines(SPEECH):
    mode = " ".join(mode)
    ask(f"torchaudio.{name} batch {count} {optimizer} {mode}", train, of_torchaudio(name),
        said(name, int(count)), LOSSES.get(name, heard), package="torchaudio", optimizer=optimizer,
        mode=mode)  # fmt: skip


# Science.
def process(count):
    """An exact Gaussian process, by the Cholesky decomposition."""
    version = library("gpytorch")
    import gpytorch

    class Process(gpytorch.models.ExactGP):
        def __init__(self, x, y):
            super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.MaternKernel(ard_num_dims=4)
            )

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    torch.cuda.init()
    account = Account()
    x = torch.rand(count, 4, dtype=torch.float64).cuda()
    y = torch.sin(x.sum(1))
    model = Process(x, y).to("cuda", torch.float64).train()
    account.mark("model")
    likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    with gpytorch.settings.max_cholesky_size(count + 1):
        for step in (1, 2):
            optimizer.zero_grad()
            loss = -likelihood(model(x), y)
            account.mark(f"forward {step}")
            loss.backward()
            account.mark(f"backward {step}")
            optimizer.step()
            account.mark(f"step {step}")
            del loss
        model.eval()
        with torch.no_grad():
            found = model(x[:500] + 0.01)
            values = found.mean, found.variance
        account.mark("prediction")
        del found, values
    return account.end() | {"gpytorch": version}


class Flow(nn.Module):
    """A neural differential equation; fixed steps, so that their number depends on no value."""

    def __init__(self, adjoint):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(256, 1024), nn.Tanh(), nn.Linear(1024, 256))
        self.adjoint = adjoint

    def forward(self, x):
        import torchdiffeq

        solve = torchdiffeq.odeint_adjoint if self.adjoint else torchdiffeq.odeint
        given = {"adjoint_params": tuple(self.parameters())} if self.adjoint else {}
        times = torch.linspace(0, 1, 11, device=x.device)
        return solve(lambda _, y: self.inner(y), x, times, method="rk4", **given)[-1]


class Spectral(nn.Module):
    def __init__(self, width, modes):
        super().__init__()
        self.modes = modes
        self.weights = nn.Parameter(torch.zeros(2, width, width, modes, modes, dtype=torch.cfloat))

    def forward(self, x):
        m, found = self.modes, torch.fft.rfft2(x)
        out = torch.zeros_like(found)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", found[:, :, :m, :m], self.weights[0])
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", found[:, :, -m:, :m], self.weights[1])
        return torch.fft.irfft2(out, s=x.shape[-2:])


class Operator(nn.Module):
    """A Fourier neural operator."""

    def __init__(self, width=64, modes=16, depth=4):
        super().__init__()
        self.lift, self.end = nn.Conv2d(3, width, 1), nn.Conv2d(width, 1, 1)
        self.spectral = nn.ModuleList(Spectral(width, modes) for _ in range(depth))
        self.local = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(depth))

    def forward(self, x):
        x = self.lift(x)
        for spectral, local in zip(self.spectral, self.local, strict=True):
            x = F.gelu(spectral(x) + local(x))
        return self.end(x)


def fitted(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])


def fields(count):
    return lambda model: [torch.rand(count, 3, 128, 128), torch.rand(count, 1, 128, 128)]


def vectors(count):
    return lambda model: [torch.rand(count, 256), torch.rand(count, 256)]


def physics(points):
    """A network that solves Burgers' equation, by L-BFGS and second derivatives."""
    torch.cuda.init()
    account = Account()
    widths = [2, *[256] * 6, 1]
    parts = [one for a, b in itertools.pairwise(widths) for one in (nn.Linear(a, b), nn.Tanh())]
    model = nn.Sequential(*parts[:-1]).cuda()
    account.mark("model")
    place = torch.rand(points, 2).cuda().requires_grad_()
    account.mark("batch")
    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=10, history_size=20, tolerance_grad=-1, tolerance_change=-1
    )

    def closure():
        optimizer.zero_grad()
        u = model(place)
        (first,) = torch.autograd.grad(u.sum(), place, create_graph=True)
        (second,) = torch.autograd.grad(first[:, 0].sum(), place, create_graph=True)
        loss = (first[:, 1:] + u * first[:, :1] - 0.003 * second[:, :1]).square().mean()
        loss.backward()
        return loss

    for step in (1, 2):
        optimizer.step(closure)
        account.mark(f"step {step}")
    return account.end()


def equivariant(count):
    """Layers of tensor products of spherical harmonics, as networks of atoms have them."""
    version = library("e3nn")
    from e3nn import o3

    class Atoms(nn.Module):
        def __init__(self):
            super().__init__()
            shape, sphere = o3.Irreps("32x0e + 16x1o + 8x2e"), o3.Irreps.spherical_harmonics(2)
            self.sphere = sphere
            self.products = nn.ModuleList(
                o3.FullyConnectedTensorProduct(shape, sphere, shape, shared_weights=False)
                for _ in "ab"
            )
            self.weights = nn.ModuleList(
                nn.Sequential(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, one.weight_numel))
                for one in self.products
            )

        def forward(self, x, ends, places, near):
            sphere = o3.spherical_harmonics(self.sphere, places, normalize=True)
            for product, weights in zip(self.products, self.weights, strict=True):
                messages = product(x[ends[0]], sphere, weights(near))
                x = x + torch.zeros_like(x).index_add(0, ends[1], messages)
            return x

    def batch(model):
        edges = 4 * count
        return [torch.randn(count, 120), torch.randint(count, (2, edges)), torch.randn(edges, 3),
                torch.rand(edges, 8)]  # fmt: skip

    found = train(
        Atoms, batch, lambda model, given: model(*given).square().mean(), package="e3nn", drawn=True
    )
    return found | {"e3nn": version}


ask("gpytorch.exact 4000 points float64", process, 4000)
ask("torchdiffeq.rk4 batch 4096 adam fp32", train, lambda: Flow(False), vectors(4096), fitted,
    package="torchdiffeq", optimizer="adam")  # fmt: skip
ask("torchdiffeq.rk4 adjoint batch 4096 adam fp32", train, lambda: Flow(True), vectors(4096), fitted,
    package="torchdiffeq", optimizer="adam")  # fmt: skip
ask("science.fno batch 16 adamw fp32", train, Operator, fields(16), fitted)
ask(
    "science.fno batch 16 adamw fp32 clip ema", train, Operator, fields(16), fitted, mode="clip ema"
)
ask("science.pinn 20000 points lbfgs", physics, 20000)
ask("e3nn.tensor products 2000 atoms adamw", equivariant, 2000)

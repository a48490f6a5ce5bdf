"""PyTorch in and out. Runs where torch is installed: TORCH=1 make test."""

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_diabetes

import exhume

torch = pytest.importorskip("torch", reason="torch is not installed; TORCH=1 make test installs it")
from torch import nn  # noqa: E402


@pytest.fixture(scope="module")
def teacher():
    """10-8-1, trained on load_diabetes."""
    torch.manual_seed(0)
    x, y = load_diabetes(return_X_y=True)
    x = torch.tensor(x / x.std(axis=0))
    y = torch.tensor((y - y.mean()) / y.std()).reshape(-1, 1)
    module = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 1)).double()
    optimiser = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(500):
        optimiser.zero_grad()
        nn.functional.mse_loss(module(x), y).backward()
        optimiser.step()
    return module


def test_diabetes_10_8_1(teacher, tmp_path):
    torch.manual_seed(1)
    x = torch.randn(200_000, 10, dtype=torch.float64)
    y = teacher(x)  # still part of a graph, as it comes
    result = exhume.recover(x, y)
    assert result.status == "certified" and result.network.hidden == 8
    assert result.network.align(exhume.Network.from_torch(teacher)).worst_error <= 1e-9
    assert (result.network.to_torch()(x) - y).abs().max() <= 1e-10
    result.network.to_onnx(tmp_path / "n.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "n.onnx", providers=["CPUExecutionProvider"])
    (values,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert np.abs(values - y.detach().numpy()).max() <= 1e-10


def test_there_and_back():
    planted = exhume.generate(inputs=4, hidden=3, outputs=2, samples=100)
    module = planted.network.to_torch()
    assert isinstance(module, nn.Module)
    assert exhume.Network.from_torch(module) == planted.network
    assert np.allclose(module(torch.tensor(planted.x)).detach().numpy(), planted.y, atol=1e-12)
    t = planted.network
    linear = exhume.Network(t.W, t.b, t.A, t.c, np.ones((2, 4)))
    assert exhume.Network.from_torch(linear.to_torch()) == linear
    assert torch.allclose(linear.to_torch()(torch.tensor(planted.x)), torch.tensor(linear(planted.x)))


def test_what_from_torch_reads():
    inner = nn.Sequential(nn.Linear(3, 2, bias=False), nn.ReLU())
    module = nn.Sequential(nn.Flatten(), inner, nn.Dropout(), nn.Linear(2, 1))
    network = exhume.Network.from_torch(module.eval())
    x = torch.randn(5, 3)
    assert np.allclose(network(x), module(x).detach().numpy(), atol=1e-6)
    with pytest.raises(
        ValueError, match="consists of Linear, Hardtanh, Linear; expected Linear and units of one kind in turn"
    ):
        exhume.Network.from_torch(nn.Sequential(nn.Linear(3, 2), nn.Hardtanh(), nn.Linear(2, 1)))
    with pytest.raises(ValueError, match="not a torch.nn.Module"):
        exhume.Network.from_torch(3)


def test_tensors_are_not_copied():
    from exhume._arrays import as_rows

    tensor = torch.randn(50, 4, dtype=torch.float64, requires_grad=True)
    assert np.shares_memory(as_rows(tensor, "x"), tensor.detach().numpy())


DEEP = [
    ([[1, -2], [3, 0], [0, 1]], [1, -1, 0]),
    ([[1, 2, -1], [0, 1, 4]], [5, -3]),
    ([[1, 0], [0, 1], [2, 2]], [2, -7, 0]),
]


def test_deep_networks_there_and_back():
    network = exhume.Network(DEEP)
    module = network.to_torch()
    assert [type(part) for part in module] == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]
    assert exhume.Network.from_torch(module) == network
    x = torch.tensor(np.random.default_rng(1).integers(-9, 10, (20, 2)).astype(float))
    assert np.array_equal(module(x).detach().numpy(), network(x))
    skips = [None, [[1, 0], [0, 1]], [[1, -1, 0, 2, 0], [0, 0, 1, 0, -3], [1, 1, 1, 1, 1]]]
    skipping = exhume.Network([(*layer, skip) for layer, skip in zip(DEEP, skips)])
    assert np.array_equal(skipping.to_torch()(x).detach().numpy(), skipping(x))
    assert exhume.Network.from_torch(skipping.to_torch()) == skipping


def test_what_deep_from_torch_reads():
    module = nn.Sequential(
        nn.Flatten(),
        nn.Linear(3, 4),
        nn.ReLU(),
        nn.Dropout(),
        nn.Linear(4, 2, bias=False),
        nn.ReLU(),
        nn.Linear(2, 1),
    ).eval()
    network = exhume.Network.from_torch(module)
    x = torch.randn(5, 3)
    assert np.allclose(network(x), module(x).detach().numpy(), atol=1e-6)
    with pytest.raises(
        ValueError, match="consists of Linear, Hardtanh, Linear; expected Linear and units of one kind"
    ):
        exhume.Network.from_torch(nn.Sequential(nn.Linear(3, 2), nn.Hardtanh(), nn.Linear(2, 1)))


def test_a_state_dict_in_a_file(tmp_path):
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2), nn.ReLU(), nn.Linear(2, 1))
    np.savez(tmp_path / "n.npz", **{name: part.numpy() for name, part in module.state_dict().items()})
    assert exhume.Network.load(tmp_path / "n.npz") == exhume.Network.from_torch(module)

"""One head against many: thresholds, never single numbers; heads are matched to roles by their weights."""

import pytest
import torch

from manyheads.learn import experiment, plot_sweep, stored_sweep, train_heads


@pytest.fixture
def graded(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")


def by_heads(num_heads):
    return [run for run in stored_sweep() if run.num_heads == num_heads]


def test_stored_sweep_shows_the_rise_and_the_fall():
    assert {run.num_heads for run in stored_sweep()} == {1, 2, 4, 8, 16, 32}
    assert all(len(by_heads(h)) == 3 for h in (1, 2, 4, 8, 16, 32))
    assert all(run.accuracy < 0.4 for run in by_heads(1))
    assert all(0.4 < run.accuracy < 0.7 for run in by_heads(2))
    assert all(run.accuracy > 0.95 for run in by_heads(4) + by_heads(8))
    assert all(run.accuracy < 0.5 for run in by_heads(32))
    assert len({run.parameters for run in stored_sweep()}) == 1


def test_stored_four_heads_take_a_role_each_and_lose_it_when_cut():
    for run in by_heads(4):
        assert set(run.role_of_head) == set(experiment.ROLES)
        table = run.ablation()
        for head, role in enumerate(run.role_of_head):
            lost = torch.tensor([role == other for other in experiment.ROLES])
            assert (table[head + 1][lost] < 0.1).all() and (table[head + 1][~lost] > 0.9).all()


@pytest.mark.slow
def test_live_training_learns_and_leaves_torch_as_it_was(monkeypatch, capsys):
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    tiny = torch.tensor(1e-310, dtype=torch.float64)
    threads = torch.get_num_threads()
    before = torch.get_rng_state()
    torch.set_num_threads(2)
    try:
        with torch.no_grad():
            four, one = train_heads(4), train_heads(1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(torch.get_rng_state(), before), "the reader's random numbers were disturbed"
    # Bits, since a processor that flushes denormal numbers finds 0 == 1e-310 true.
    assert (tiny * 1).view(torch.int64).item() != 0, "denormal numbers are still flushed"

    assert four.accuracy > 0.95 and set(four.role_of_head) == set(experiment.ROLES)
    assert one.accuracy < 0.4 and one.centred_r2 < 0.5
    assert four.parameters == one.parameters
    assert four.weights.shape == (4, 4) and one.ablation().shape == (2, 4)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and "accuracy 1.00" in lines[0]


def test_measures_by_construction():
    weights = torch.tensor([[0.9, 0, 0, 0], [0.2, 0.6, 0, 0]])
    run = experiment.Trained(2, 0, 10, 0.5, 0.5, {"subject": 0.5}, weights, torch.zeros(3, 4), 6336)
    assert run.d_k == 16 and run.role_of_head == ("subject", "object")
    assert run.purity == pytest.approx((1 + 0.75) / 2) and run.focus == pytest.approx((0.9 + 0.8) / 2)


def test_samples_hold_the_answer_where_they_say():
    tokens, verb_at, names, names_at = experiment._samples(5, torch.Generator().manual_seed(11))
    for sample in range(5):
        assert sorted([*verb_at[sample].tolist(), *names_at[sample].flatten().tolist()]) == list(range(20))
        for clause in range(4):
            verb = tokens[sample, verb_at[sample, clause], 0]
            for role in range(4):
                mark = tokens[sample, names_at[sample, clause, role]]
                assert mark.tolist() == [verb, role, names[sample, clause, role]]


def test_grading_uses_the_stored_run(graded, monkeypatch):
    monkeypatch.setattr(experiment, "_train", lambda *_: pytest.fail("trained while grading"))
    run = train_heads(4)
    assert (run.num_heads, run.seed) == (4, 1) and run.accuracy > 0.95
    assert train_heads(1, seed=99).num_heads == 1
    plot_sweep()


@pytest.mark.parametrize("num_heads", [0, 3, 64, 4.0, "4"])
def test_bad_head_counts(num_heads):
    with pytest.raises(ValueError, match="must divide d_model = 32"):
        train_heads(num_heads)


def test_plot_tells_the_bound_and_the_limits(monkeypatch):
    shown = []
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr("IPython.display.display", lambda bundle, **_: shown.append(bundle))
    assert plot_sweep() is None
    said = " ".join(shown[1]["text/plain"].split())
    assert "data:image/png" in shown[0]["text/html"]
    assert "linear read-out" in said and "Limits:" in said and "BLEU 24.9" in said
    mean = sum(run.accuracy for run in by_heads(1)) / 3
    assert f"h = 1, d_k = 32: accuracy {mean:.2f}" in said


def test_without_output_matrix_the_puzzle_is_solved_all_the_same():
    run = experiment.stored_without_output()
    with_output = next(one for one in experiment.stored_sweep() if one.num_heads == run.num_heads)
    assert not run.with_output and run not in experiment.stored_sweep()
    assert run.accuracy > 0.95
    assert run.parameters == with_output.parameters - experiment.D_MODEL**2

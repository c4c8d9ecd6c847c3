"""Trains the model of the main content: python3 train.py FILE FOLDER [PART], where prepare.py wrote FILE.pack. Needs LightGBM.

Writes FOLDER/model.json, trained on all pages, and FOLDER/model-N.json for each fifth N of the domains, trained on the others.
Prints how well these find the content of the fifth that they do not know. With PART, that fifth is left out of everything, so
that features and settings can be chosen without it."""

import base64
import collections
import functools
import json
import pickle
import sys
import zlib

import lightgbm
import numpy as np

TYPES = ["article", "collection", "documentation", "forum", "listing", "product", "service"]
PARTS = frozenset(range(5))
#: Blocks weigh by their number of words to this power, the blocks of a page together 1.
WEIGHT = 0.85
#: Pages of whose wanted text the blocks have less than this (F1) teach nothing.
CLEAN = 0.6
#: Of pages with more blocks than this, that many teach, chosen at random.
MOST_BLOCKS = 600
COMMON = dict(learning_rate=0.05, max_bin=63, bagging_freq=1, num_threads=2, deterministic=True, force_col_wise=True, verbose=-1)
TYPE_TREES = dict(
    objective="multiclass", num_class=len(TYPES), num_iterations=100, num_leaves=6, lambda_l2=4.0,
    min_sum_hessian_in_leaf=1.5, min_data_in_leaf=5, feature_fraction=0.2, bagging_fraction=0.8,
)  # fmt: skip
BLOCK_TREES = dict(
    objective="cross_entropy", num_leaves=31, max_depth=6, lambda_l2=10.0, min_sum_hessian_in_leaf=3.0,
    min_data_in_leaf=20, feature_fraction=0.25, bagging_fraction=0.5,
)  # fmt: skip
FIRST_TREES = dict(BLOCK_TREES, num_iterations=300)
SECOND_TREES = dict(BLOCK_TREES, num_iterations=200)
#: The probabilities of the types are known this coarsely while training, so that the trees do not learn to trust them.
TYPE_EDGES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9])


def choose(chances, sizes):
    """The blocks with the largest expected F1, and that F1: chooseBlocks.ts."""
    order = np.argsort(-chances, kind="stable")
    keep = np.zeros(len(chances), bool)
    if not len(order):
        return keep, 0.0
    right = chances[order] * sizes[order]
    expected = 2 * np.cumsum(right) / np.maximum(np.cumsum(sizes[order]) + right.sum(), 1)
    best = int(np.argmax(expected))
    keep[order[: best + 1]] = True
    return keep, float(expected[best])


def boost(table, target, weight, seed, options):
    data = lightgbm.Dataset(table, target, weight=weight / weight.mean(), free_raw_data=True)
    return lightgbm.train({**COMMON, **options, "seed": seed}, data)


class Training:
    """Forests that know all pages but those of some parts, and what they say of those that they do not know. The parts are also
    the folds in which the forests get what earlier ones say of pages that these have not seen."""

    def __init__(self, file):
        self.data = data = pickle.loads(zlib.decompress(open(f"{file}.pack", "rb").read()))
        self.names = data["names"]
        self.rows = np.fromfile(f"{file}.f32", dtype=np.float32).reshape(-1, len(self.names["block"]))
        self.count = np.array(data["count"])
        self.start = np.concatenate([[0], np.cumsum(self.count)])
        self.pages, self.blocks = len(self.count), self.start[-1]
        self.page_of = np.repeat(np.arange(self.pages), self.count)
        self.part = np.array(data["part"])
        self.types = np.array([TYPES.index(it) for it in data["type"]])
        self.words = self.rows[:, self.names["block"].index("words")].astype(np.float64)
        own = [self.f1(page, data["labels"][self.span(page)] >= 0.5) for page in range(self.pages)]
        self.clean = (np.array(own) > CLEAN) & np.array([len(want) > 0 for want in data["want"]])
        random = np.random.default_rng(1).random(self.blocks)
        rank = np.empty(self.blocks, int)
        rank[np.lexsort((random, self.page_of))] = np.arange(self.blocks) - self.start[self.page_of]
        self.teaches = self.clean[self.page_of] & (rank < MOST_BLOCKS)
        weights = np.maximum(self.words, 1) ** WEIGHT * self.teaches
        self.weights = weights / np.maximum(np.bincount(self.page_of, weights, minlength=self.pages), 1e-9)[self.page_of]

    def span(self, page):
        return slice(self.start[page], self.start[page + 1])

    def f1(self, page, keep):
        want = self.data["want"][page]
        made = [self.data["blocks"][page][at] for at in np.flatnonzero(keep)]
        made = np.concatenate(made) if made else np.zeros(0, np.int32)
        if not len(want) or not len(made):
            return float(len(want) == len(made))
        _, codes = np.unique(np.concatenate([want, made]), return_inverse=True)
        most = codes.max() + 1
        a, b = np.bincount(codes[: len(want)], minlength=most), np.bincount(codes[len(want) :], minlength=most)
        return 2 * np.minimum(a, b).sum() / (len(want) + len(made))

    def out(self, without):
        return np.isin(self.part, list(without))

    def unseen(self, without, predict, made):
        """What forests say of all pages, each asked of pages that it does not know: those that know all parts but the ones in
        `without` of these, and for each other part, those that do not know that part either."""
        for part in PARTS - without:
            predict(without | {part}, self.part == part, made)
        if without:
            predict(without, self.out(without), made)
        return made

    @functools.cache
    def type_forest(self, without):
        learn = self.clean & ~self.out(without)
        return boost(self.data["pages"][learn], self.types[learn], np.ones(learn.sum()), 1, TYPE_TREES)

    @functools.cache
    def type_chances(self, without):
        def predict(unknown, pages, made):
            made[pages] = self.type_forest(unknown).predict(self.data["pages"][pages])

        return self.unseen(without, predict, np.zeros((self.pages, len(TYPES))))

    def table(self, without, at, context=None):
        """The features of some blocks, given by index."""
        page = self.page_of[at]
        types = np.searchsorted(TYPE_EDGES, self.type_chances(without)).astype(np.float32)
        columns = [self.rows[at], self.data["pages"][page], types[page]]
        return np.concatenate(columns if context is None else [*columns, context[at]], 1)

    def fit(self, without, options, context=None):
        at = np.flatnonzero(self.teaches & ~self.out(without)[self.page_of])
        return boost(self.table(without, at, context), self.data["labels"][at], self.weights[at], 1, options)

    @functools.cache
    def first(self, without):
        return self.fit(without, FIRST_TREES)

    @functools.cache
    def context(self, without):
        def predict(unknown, pages, made):
            at = np.flatnonzero(pages[self.page_of])
            made[at] = self.first(unknown).predict(self.table(unknown, at))

        return self.context_of(self.unseen(without, predict, np.zeros(self.blocks)))

    @functools.cache
    def second(self, without):
        return self.fit(without, SECOND_TREES, self.context(without)[1])

    def chances(self, without):
        """How probable it is that the blocks of the parts that are left out are content; 0 for the others."""
        at = np.flatnonzero(self.out(without)[self.page_of])
        made = np.zeros(self.blocks)
        made[at] = self.second(without).predict(self.table(without, at, self.context(without)[1]))
        return made

    def context_of(self, chances):
        """What the first forest says of a block and of those around it: contextFeatures.ts."""
        page_of, start, blocks, pages = self.page_of, self.start, self.blocks, self.pages
        size = np.maximum(self.words, 1)
        sums, sizes = np.concatenate([[0], np.cumsum(chances * size)]), np.concatenate([[0], np.cumsum(size)])
        index, low, high = np.arange(blocks), start[page_of], start[page_of + 1]
        columns = {"own": chances}
        for step in (-2, -1, 1, 2):
            near = index + step
            inside = (near >= low) & (near < high)
            columns[f"near{step}"] = np.where(inside, chances[np.clip(near, 0, blocks - 1)], -1)
        for reach in (4, 12, 40):
            a, b = np.maximum(low, index - reach), np.minimum(high, index + reach + 1)
            columns[f"around{reach}"] = (sums[b] - sums[a]) / (sizes[b] - sizes[a])
        for name, family in self.data["families"].items():
            _, member = np.unique(page_of.astype(np.int64) * 1_000_000 + family, return_inverse=True)
            columns[name] = (np.bincount(member, chances * size) / np.bincount(member, size))[member]
        total, all_words = (np.bincount(page_of, it, minlength=pages) for it in (chances * size, size))
        columns["page"] = (total / np.maximum(all_words, 1))[page_of]
        columns["words"] = np.log1p(total)[page_of]
        expected, least = np.zeros(pages), np.zeros(pages)
        for page in range(pages):
            own = chances[self.span(page)]
            keep, expected[page] = choose(own, self.words[self.span(page)])
            least[page] = own[keep].min() if keep.any() else 0
        columns["expected"] = expected[page_of]
        columns["above"] = chances - least[page_of]
        return [f"first.{name}" for name in columns], np.stack(list(columns.values()), 1).astype(np.float32)

    def measured(self, without, pages):
        """Expected and measured F1 of pages that are left out."""
        chances = self.chances(without)
        kept = [choose(chances[self.span(page)], self.words[self.span(page)]) for page in pages]
        return [(expected, self.f1(page, keep)) for page, (keep, expected) in zip(pages, kept)]

    def model(self, without, results):
        """The model that knows all pages but those left out, as model.ts reads it."""
        types = [f"type.{it}" for it in TYPES]
        names = [*self.names["block"], *self.names["page"], *types, *self.context(without)[0]]
        used, used_page = {}, {}
        coarse = range(names.index(types[0]), names.index(types[-1]) + 1)
        forests = (("first", self.first), ("second", self.second))
        made = {name: stored(trees_of(it(without)), used, coarse) for name, it in forests}
        trees = trees_of(self.type_forest(without))
        type_forests = [stored(trees[at :: len(TYPES)], used_page) for at in range(len(TYPES))]
        return {
            "features": {"block": [names[at] for at in used], "page": [self.names["page"][at] for at in used_page]},
            **made,
            "types": type_forests,
            "calibration": calibration(results),
        }


def trees_of(forest):
    return [it["tree_structure"] for it in forest.dump_model()["tree_info"]]


def single(value):
    """The largest number of 32 bits that is not above a threshold, which decides alike for all numbers of 32 bits."""
    near = np.float32(value)
    return float(near if near <= value else np.nextafter(near, np.float32(-np.inf)))


def stored(trees, used, coarse=range(0)):
    """The nodes in preorder, as forest.ts reads them. The features in `coarse` are indices between TYPE_EDGES."""
    feature, value, above = [], [], []

    def put(tree):
        node = len(feature)
        is_leaf = "leaf_value" in tree
        feature.append(-1 if is_leaf else used.setdefault(tree["split_feature"], len(used)))
        if is_leaf:
            value.append(tree["leaf_value"])
        elif tree["split_feature"] in coarse:
            value.append(single(TYPE_EDGES[int(tree["threshold"])]))
        else:
            value.append(single(tree["threshold"]))
        above.append(0)
        if is_leaf:
            return
        put(tree["left_child"])
        above[node] = len(feature) - node
        put(tree["right_child"])

    for tree in trees:
        put(tree)
    arrays = {"feature": (feature, "<i2"), "value": (value, "<f4"), "above": (above, "<u2")}
    return {name: base64.b64encode(np.array(it, kind).tobytes()).decode() for name, (it, kind) in arrays.items()}


def calibration(results):
    """Points of the ascending function that fits best (pool adjacent violators)."""
    pools = []
    for x, y in sorted(results):
        pools.append([y, 1, x, x])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            y2, n2, _, last = pools.pop()
            y1, n1, first, _ = pools.pop()
            pools.append([(y1 * n1 + y2 * n2) / (n1 + n2), n1 + n2, first, last])
    return [[round((first + last) / 2, 4), round(float(y), 4)] for y, _, first, last in pools]


def main(file, folder, *kept):
    training = Training(file)
    kept = frozenset(int(it) for it in kept)
    results, scores = {}, collections.defaultdict(list)
    for part in PARTS - kept:
        pages = np.flatnonzero(training.part == part)
        results[part] = training.measured(kept | {part}, pages)
        for page, (_, score) in zip(pages, results[part]):
            scores[training.data["type"][page]].append(score)
    print({name: round(float(np.mean(own)), 3) for name, own in sorted(scores.items())})
    print("all", round(float(np.mean(sum(scores.values(), []))), 4))
    for part in [None, *results]:
        known = sum((own for it, own in results.items() if it != part), [])
        model = training.model(kept if part is None else kept | {part}, known)
        name = "model.json" if part is None else f"model-{part}.json"
        with open(f"{folder}/{name}", "w") as target:
            json.dump(model, target, separators=(",", ":"))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The digest of a set does not depend on the order, on how it came about, or on the parts it was summed from."""
import hashlib

from rag_lab.sums import added, share, sum_digest


def test_a_share_is_the_shake_of_the_compact_json():
    assert share(["a", 1]) == int(hashlib.shake_256(b'["a",1]').hexdigest(256), 16)


def test_members_come_and_go_in_any_order():
    one, two, three = map(share, ["one", "two", "three"])
    assert added([one, two, three]) == added([three, one, two]) == added([added([one, two]), three])
    assert added([one, two, three, -two]) == added([one, three])
    assert added([one, -one]) == added([]) == 0


def test_a_member_that_stands_twice_counts_twice():
    assert added([share("a"), share("a")]) not in (share("a"), 0)


def test_sums_stay_below_two_to_the_2048():
    assert added([2 ** 2048 - 1, 2]) == 1
    assert added([-1]) == 2 ** 2048 - 1


def test_the_digest_is_of_the_sum_in_hex():
    assert sum_digest(255) == hashlib.sha256(b"ff").hexdigest()[:16]

"""Text analysis: which terms a text holds, what compares equal, and where sentences end."""
import random
import unicodedata

import pytest

from rag_lab.spans import Token, tokens
from rag_lab.text import fold, sentences, squeeze, terms
from support import found

POINTS = [chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
CJK = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER", "KATAKANA LETTER", "HANGUL SYLLABLE")

NASTY = [  # pieces of random texts
    *"aZ09.,-_'\" \n\t", "\u3000", "\u00a0", "3.2", "v10.0.1", *"‐–—−", *"猫数据库々〇", "𠮷", "𪚥", *"かなゟカナー", *"ｶﾊｱﾞﾟ",
    *"한국어", "\u1112\u1161\u11ab", "\u1100", "\uffa1", "e\u0301", "\u0301", "\u0316", "\u3099", "\u200b", "\u200d", "\ufe0f",
    "\u00ad", "\ufeff", "\u2060", "\u034f", "\u3164", *"ﬁﬃßſẞ㎏½①㍿℡…", *"ＡｂＺ３．！", "🎉", "👍🏽", "👨\u200d👩\u200d👧", "🇨🇳",
    "1\ufe0f\u20e3",
    *"𝟑𝐀", "𐐀", *"。！？!?；「」“”｡", "ไทย", "ำ", "မြန်မာ", *"#|>*`()", "\x00", "\u2028", "\ud83d", "\uffff",
]
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u3164\ufe0f\ufe00\u061c\u202e\u2063\u180e\U000e0101\U000e0067"


def random_texts(count: int, pieces=NASTY, longest: int = 30):
    for seed in range(count):
        choose = random.Random(seed)
        yield "".join(choose.choice(pieces) for _ in range(choose.randint(0, longest)))


# --- terms ---------------------------------------------------------------------------------------------------------

def test_words_numbers_and_pairs_of_characters_become_terms():
    assert terms("P0 故障响应, v3.2") == ["p0", "故障", "障响", "响应", "v", "3.2"]


def test_a_pasted_document_finds_itself_first():
    for seed in range(30):
        choose = random.Random(seed)
        texts = ["".join(choose.choice(NASTY) for _ in range(60)) for _ in range(8)]
        for text in texts:
            assert found(text, *texts)[0] == text


def test_a_pasted_piece_finds_its_source():
    text = "净重 5㎏，ﬁnal 版\u200b本在此，ﾊﾞｯｸｱｯﾌﾟ手順；cafe\u0301 “retry” 👍🏽"
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            piece = text[start:end]
            if len(terms(piece)) > 3:
                assert found(piece, "别的", text) == [text]


# --- B001 to B008: scripts that are written without spaces -----------------------------------------------------------

def test_b001_a_word_inside_han_text_is_found_and_nothing_else_is():
    assert found("重置密码", "今天食堂供应米饭", "登录失败请重置密码") == ["登录失败请重置密码"]


def test_b002_part_of_a_han_sentence_finds_it():
    assert found("报销流程", "本季度差旅报销流程调整说明") == ["本季度差旅报销流程调整说明"]


def test_b004_a_lone_character_is_a_term():
    assert terms("猫") == ["猫"] and found("猫", "a 猫 b", "狗") == ["a 猫 b"]


def test_b005_adjacent_characters_count_and_scattered_ones_do_not():
    assert found("数据库", "据说数字都在仓库里", "数据库备份") == ["数据库备份"]


@pytest.mark.parametrize("query, text", [
    ("しりとり", "昨日は図書館でしりとりをした"), ("끝말잇기", "어제 도서관에서 끝말잇기를 했다")])
def test_b007_kana_and_hangul_are_found_inside_a_run(query, text):
    assert found(query, "別の文", "다른 글", text) == [text]


@pytest.mark.parametrize("query, text", [
    ("ตะกร้า", "แมวอยู่ในตะกร้าใบใหญ่"), ("ພາສາ", "ຂ້ອຍຮຽນພາສາລາວ"), ("ភាសា", "ខ្ញុំរៀនភាសាខ្មែរ"),
    ("ဘာသာ", "ကျွန်တော်မြန်မာဘာသာလေ့လာသည်"), ("ㄓㄨㄧㄣ", "學ㄓㄨㄧㄣ符號"), ("ꆈꌠ", "ꑼꂷꆈꌠꁱꂷ"), ("𗼇𗟲", "𗏁𗼇𗟲𘝞")])
def test_b007_other_scripts_without_spaces_are_found_inside_a_run(query, text):
    assert found(query, "别的", text) == [text]


@pytest.mark.parametrize("query", ["𠮷野", "人々", "〇"])
def test_b008_characters_outside_the_first_han_block_are_found(query):
    text = "𠮷野家の前で、人々は〇を見た"
    assert found(query, "別の文", text) == [text]


def test_b008_offsets_count_one_for_a_character_of_a_supplementary_plane():
    assert tokens("𠮷野家の")[:2] == [Token("𠮷野", 0, 2), Token("野家", 1, 3)]


def test_b008_every_ideograph_kana_and_hangul_syllable_pairs_with_its_neighbour():
    letters = [char for char in POINTS if unicodedata.name(char, "").startswith(CJK)]
    assert len(letters) > 100_000
    assert [char for char in letters if len(terms(f"{char}{char}{char}")) != 2] == []


@pytest.mark.parametrize("text, expected", [
    ("佐々木", ["佐々", "々木"]), ("二〇二六", ["二〇", "〇二", "二六"]), ("〆切", ["〆切"]), ("ラーメン", ["ラー", "ーメ", "メン"]),
    ("いすゞ", ["いす", "すゞ"]), ("㐂𠀋𪜀𫝀𫠠𬺰𰀀", ["㐂𠀋", "𠀋𪜀", "𪜀𫝀", "𫝀𫠠", "𫠠𬺰", "𬺰𰀀"])])
def test_b008_iteration_marks_zero_long_vowels_and_all_extensions_stand_in_pairs(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize("text, expected", [
    ("P0故障", ["p0", "故障"]), ("用Python写", ["用", "python", "写"]), ("東京タワー", ["東京", "タワ", "ワー"]),
    ("食べる", ["食", "べる"]), ("한국語", ["한국", "語"]), ("3月", ["3", "月"])])
def test_a_change_of_script_ends_a_token(text, expected):
    assert terms(text) == expected


def test_no_pair_reaches_over_punctuation_or_white_space():
    assert terms("退款。到账，多 久") == ["退款", "到账", "多", "久"]


# --- B010 to B013, B017: forms that compare equal --------------------------------------------------------------------

def test_b010_full_width_digits_match_plain_ones_both_ways():
    assert found("305", "房间号 ３０５") == ["房间号 ３０５"] and found("３０５", "房间号 305") == ["房间号 305"]


def test_b010_the_span_shows_the_full_width_digits_as_stored():
    text = "房间号 ３０５"
    (token,) = [token for token in tokens(text) if token.term == "305"]
    assert text[token.start:token.end] == "３０５"


def test_b010_every_full_width_character_folds_to_its_plain_one():
    for point in range(0xFF01, 0xFF5F):
        assert fold(chr(point)) == chr(point - 0xFF01 + 0x21).lower()   # U+FF01 is the full-width U+0021, and so on


@pytest.mark.parametrize("text", ["𝟑𝟎𝟓", "𝟛𝟘𝟝", "③⓪⑤", "³⁰⁵", "₃₀₅", "３0５"])
def test_b010_digits_of_every_width_and_style_match(text):
    assert terms(text) == ["305"]


@pytest.mark.parametrize("text", ["ＲＥＴＲＹ", "ｒｅｔｒｙ", "𝐫𝐞𝐭𝐫𝐲", "𝓡𝓔𝓣𝓡𝓨", "ⓇⒺⓉⓇⓎ", "Retry", "ʳᵉᵗʳʸ"])
def test_b010_letters_of_every_width_and_style_match(text):
    assert terms(text) == ["retry"]


def test_b013_half_width_katakana_matches_full_width_both_ways():
    assert found("バックアップ", "ﾊﾞｯｸｱｯﾌﾟ手順") == ["ﾊﾞｯｸｱｯﾌﾟ手順"]
    assert found("ﾊﾞｯｸｱｯﾌﾟ", "バックアップ手順") == ["バックアップ手順"]


def test_b013_every_half_width_kana_with_every_mark_folds_as_unicode_composes_it():
    for point in range(0xFF66, 0xFF9E):
        for mark in ("", "\uff9e", "\uff9f"):
            assert fold(chr(point) + mark) == unicodedata.normalize("NFKC", chr(point) + mark)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_b013_every_normal_form_of_a_text_has_the_same_terms(form):
    text = "ﾊﾞｯｸ バック 한국어 Åsa café ﬁn Ω ㎏ が゙ Việt ไทยกำ"
    assert terms(unicodedata.normalize(form, text)) == terms(text)


@pytest.mark.parametrize("text, expected", [
    ("\uffa1\uffc2", "가"), ("ㄱㅏ", "가"), ("\u1100\u1161", "가"), ("\u1100\u1161\u11ab", "간")])
def test_b013_jamo_of_every_width_compose(text, expected):
    assert terms(text) == [expected]


@pytest.mark.parametrize("query, text", [
    ("strasse", "Straße"), ("STRASSE", "straße"), ("straße", "STRASSE"), ("strasse", "STRAẞE"), ("office", "oﬃce"),
    ("final", "ﬁnal"), ("fluss", "ﬂuß"), ("first", "firﬅ"), ("ΣΟΦΟΣ", "σοφος"), ("σοφος", "σοφοσ"), ("ǆ", "Ǆ"),
    ("kelvin", "\u212aelvin"),
    ("έως", "ΈΩΣ"), ("москва", "МОСКВА")])
def test_b017_letter_case_ligatures_and_sharp_s_compare_equal(query, text):
    assert found(query, "别的", text) == [text]


def test_folding_equals_the_standards_own_steps_on_whole_texts():
    pieces = [piece for piece in NASTY if fold(piece) and not set(piece) & set("‐–—−")] + [
        "\u0302", "\u0323", "a\u030a", "\u11a8", "\u1175", "ก", "\u0e32", "ά\u0345", "\u0345", "ŉ", "ΐ", "\u09c7",
        "\u09be", "\u1025\u102e"]
    pieces = [piece for piece in pieces if not any(char in "\u200d\ufe0f\u20e3🏽" for char in piece)]
    for text in random_texts(1500, pieces):
        nfkc = unicodedata.normalize("NFKC", text)
        assert fold(text) == unicodedata.normalize("NFKC", nfkc.casefold())


# --- B014: what cannot be seen ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("query", ["alphabeta", "alpha\u200bbeta"])
def test_b014_a_zero_width_space_is_as_if_it_were_not_there(query):
    assert found(query, "alpha", "alpha\u200bbeta gamma") == ["alpha\u200bbeta gamma"]


def test_b014_every_format_character_is_as_if_it_were_not_there():
    unseen = [char for char in POINTS if unicodedata.category(char) == "Cf"] + list(INVISIBLE)
    assert [char for char in unseen if terms(f"alpha{char}beta 退{char}款") != ["alphabeta", "退款"]] == []


def test_b014_the_span_around_an_invisible_character_reaches_over_it():
    assert tokens("退\u200b款") == [Token("退款", 0, 3)] and tokens("3\u2060.\u20602") == [Token("3.2", 0, 5)]


@pytest.mark.parametrize("text, plain", [
    ("cafe\u200b\u0301", "caf\u00e9"), ("ﾊ\u200dﾞ", "バ"), ("か\ufe0f\u3099", "が"), ("\u1112\u2060\u1161\u11ab", "한"),
    ("e\u034f\u0301", "\u00e9"), ("A\u20dd\u030a", "å")])
def test_b014_an_invisible_character_does_not_keep_an_accent_from_its_letter(text, plain):
    assert terms(text) == terms(plain)


def test_b014_a_text_folds_as_if_its_invisible_characters_were_removed_first():
    for text in random_texts(1000, [*NASTY, *INVISIBLE, *INVISIBLE]):
        seen = "".join(char for char in text if unicodedata.category(char) != "Cf" and char not in INVISIBLE)
        assert fold(text) == fold(seen)


def test_folding_twice_changes_nothing_more():
    for text in random_texts(1000, [*NASTY, *INVISIBLE]):
        assert fold(fold(text)) == fold(text)


# --- B016: emoji -------------------------------------------------------------------------------------------------------

def test_b016_an_emoji_is_found_with_and_without_a_variation_selector():
    assert found("🎉\ufe0f", "发布失败", "发布成功 🎉") == ["发布成功 🎉"]


def test_b016_an_emoji_that_no_text_holds_finds_nothing():
    assert found("🦄", "发布失败", "发布成功 🎉", "😀") == []


@pytest.mark.parametrize("one, other", [
    ("👍🏽", "👍"), ("👍🏿", "👍🏻"), ("❤\ufe0f", "❤"), ("❤\ufe0e", "❤\ufe0f"), ("☎\ufe0f", "☎"), ("3\ufe0f\u20e3", "3"),
    ("👩🏽\u200d💻", "👩\u200d💻"), ("🏴\U000e0067\U000e0062\U000e007f", "🏴"), ("🧑🏻\u200d🚀", "🧑\u200d🚀")])
def test_b016_skin_tone_style_and_key_caps_do_not_part_emoji(one, other):
    assert terms(one) == terms(other) != []


@pytest.mark.parametrize("text, count", [
    ("🎉", 1), ("🎉🎉", 2), ("👨\u200d👩\u200d👧", 3), ("🇨🇳", 2), ("成功🎉了", 3), ("❤\ufe0f\u200d🔥", 2), ("⏰⌚⛔✅✨❌❓➕⬛⭐", 10),
    ("🀄🃏🆎", 3)])
def test_b016_each_symbol_is_a_term_of_its_own(text, count):
    assert len(terms(text)) == count


@pytest.mark.parametrize("emoji", "◽ ◾ ◻ ◼ ↔".split())
def test_b016_emoji_that_unicode_files_under_mathematics_are_terms(emoji):
    assert unicodedata.category(emoji) == "Sm" and terms(f"完成 {emoji}\ufe0f") == ["完成", emoji]


@pytest.mark.parametrize("emoji", ["\U0001fae8", "\U0001f6dc", "\U0001fae9", "\U0001f6d8"])
def test_b016_emoji_are_terms_also_where_python_is_older_than_they_are(emoji):
    assert terms(f"抖 {emoji}") == ["抖", emoji]   # of Unicode 15, 15, 16 and 17; Python 3.11 knows 14, 3.13 knows 15.1


# --- punctuation, dashes, numbers -------------------------------------------------------------------------------------

@pytest.mark.parametrize("query", [
    "retry?", "（retry）", "“retry”", "‘retry’", "「retry」", "《retry》", "retry…", "¿retry?", "*retry*", "`retry`"])
def test_b041_punctuation_never_stays_glued_to_a_word(query):
    assert terms(query) == ["retry"]


def test_b041_no_punctuation_space_or_control_character_is_part_of_a_term():
    marks = [char for char in POINTS if unicodedata.category(char)[0] in "PZ" or unicodedata.category(char) == "Cc"]
    assert [char for char in marks if terms(f"retry{char} 重试{char}") != ["retry", "重试"]] == []


def test_b041_the_full_stop_of_a_script_without_spaces_is_no_part_of_a_pair():
    assert terms("မာ။") == terms("မာ") and terms("ไทย๚") == terms("ไทย") and terms("ខ្មែរ។") == terms("ខ្មែរ")


def test_b023_the_pieces_of_a_compound_have_their_own_spans():
    text = "read-only-mode enabled"   # read 0..4, only 5..9, mode 10..14, enabled 15..22
    assert tokens(text) == [Token("read", 0, 4), Token("only", 5, 9), Token("mode", 10, 14), Token("enabled", 15, 22)]


@pytest.mark.parametrize("dash", "-‐‑‒–—―−⁃﹘﹣－")
def test_look_alike_dashes_compare_equal(dash):
    assert fold(f"GPT{dash}4") == "gpt-4" and terms(f"GPT{dash}4") == ["gpt", "4"]


@pytest.mark.parametrize("text, expected", [
    ("3.2", ["3.2"]), ("v3.2", ["v", "3.2"]), ("10.0.1", ["10.0.1"]), ("3.10", ["3.10"]), ("３．２", ["3.2"]),
    ("3.2.", ["3.2"]),
    ("3.", ["3"]), (".5", ["5"]), ("3..2", ["3", "2"]), ("2.0beta", ["2.0", "beta"]), ("ab12.5", ["ab", "12.5"]),
    ("P0", ["p0"]),
    ("x2y3", ["x2y3"]), ("1,000", ["1", "000"]), ("3.2 与 3.10", ["3.2", "与", "3.10"]), ("2026-08-01", ["2026", "08", "01"])])
def test_decimals_and_version_numbers_stay_whole(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize("text, expected", [
    ("café", ["café"]), ("हिन्दी भाषा", ["हिन्दी", "भाषा"]), ("العربية", ["العربية"]), ("don't", ["don", "t"]),
    ("snake_case", ["snake", "case"]),
    ("C++", ["c"]), ("a@b.org", ["a", "b", "org"])])
def test_words_of_spaced_scripts_are_cut_at_what_is_no_letter_or_mark(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize("text", [
    "", "   ", "？！", "\u200b", "。。。", "\ufeff\u00ad", "\n\t", "--", "\u3000", "\x00", "\u0301", "\ud83d", "\u2800"])
def test_b040_texts_without_a_usable_term_have_none(text):
    assert terms(text) == [] and tokens(text) == []


# --- squeeze ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, expected", [
    ("退款 多久 到账？", "退款多久到账"), ("“Ｐ０ 故障”", "p0故障"), ("《a-b》", "a-b"), ("3.2", "3.2"), ("3.2.", "3.2"), ("？！", ""), ("", ""),
    ("成功 🎉!", "成功🎉"), ("a\u200b b", "ab")])
def test_squeeze_drops_white_space_and_outer_punctuation(text, expected):
    assert squeeze(text) == expected


def test_what_is_squeezed_stands_in_whatever_it_was_taken_from():
    for text in random_texts(1000):
        assert squeeze(text) in squeeze(f"猫 {text} 猫")


# --- sentences --------------------------------------------------------------------------------------------------------

def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def test_b022_repeated_sentences_have_spans_of_their_own():
    text = "同意。\n同意。\n同意。最终条款生效"   # 同0 意1 。2 \n3 | 4 5 6 \n7 | 8 9 10 | 最11 ... 效16
    assert list(sentences(text)) == [(0, 3), (4, 7), (8, 11), (11, 17)]
    assert pieces(text) == ["同意。", "同意。", "同意。", "最终条款生效"]


@pytest.mark.parametrize("text, expected", [
    ("甲。乙！丙？丁", ["甲。", "乙！", "丙？", "丁"]), ("真的？！好。", ["真的？！", "好。"]), ("他说：“走。”她走了。", ["他说：“走。”", "她走了。"]),
    ("（见附录。）再见。", ["（见附录。）", "再见。"]), ("One. Two! Three", ["One.", "Two!", "Three"]), ("升级到 3.2 版。完", ["升级到 3.2 版。", "完"]),
    ("见 a.b 文件", ["见 a.b 文件"]), ("第一行\n接着写。", ["第一行\n接着写。"]), ("上段\n\n下段", ["上段", "下段"]), ("  留白。  ", ["留白。"]),
    ("", []), (" \n\n ", []), ("。。。", ["。。。"])])
def test_a_sentence_ends_after_its_mark_and_at_an_empty_line(text, expected):
    assert pieces(text) == expected


@pytest.mark.parametrize("text, expected", [
    ("# 标题\n正文", ["# 标题", "正文"]), ("- 一\n- 二\n后文", ["- 一", "- 二", "后文"]), ("1. 一\n2) 二", ["1.", "一", "2) 二"]),
    ("|a|b|\n|1|2|", ["|a|b|", "|1|2|"]), ("前文\n> 引用\n后文", ["前文", "> 引用", "后文"]),
    ("甲\n```\nx\n```\n乙", ["甲", "```", "x", "```", "乙"])])
def test_headings_items_rows_quotations_and_fences_stand_for_themselves(text, expected):
    assert pieces(text) == expected


def test_sentences_are_disjoint_ordered_trimmed_and_leave_only_blanks_between_them():
    for text in random_texts(1500, [*NASTY, "。", "\n", "\n\n", "# ", "- ", ". "]):
        at = 0
        for start, end in sentences(text):
            assert at <= start < end <= len(text) and text[start:end] == text[start:end].strip()
            assert not text[at:start].strip()
            at = end
        assert not text[at:].strip()


# --- long texts --------------------------------------------------------------------------------------------------------

N = 200_000


@pytest.mark.parametrize("text, count", [
    ("9" * N, 1), ("9." * (N // 2), 1), ("a9" * (N // 2), 1), ("9a." * (N // 3), N // 3), ("9.a" * (N // 3), N // 3 + 1),
    ("猫" * N, N - 1), ("ﾊﾞ" * (N // 2), N // 2 - 1), ("a" + "\u0301" * (N - 1), 1), ("e\u0301" * (N // 2), 1),
    ("\u0301" * N, 0),
    ("\u1100\u1161" * (N // 2), N // 2 - 1), ("a\u200b" * (N // 2), 1), ("👍🏽" * (N // 2), N // 2), ("." * N, 0)],
    ids=lambda value: ascii(value[:4]) if isinstance(value, str) else str(value))
def test_a_text_of_200000_characters_is_analysed(text, count):
    assert len(tokens(text)) == len(terms(text)) == count


def test_accents_of_two_kinds_in_turn_are_analysed_in_linear_time():
    text = "a" + "\u0301\u0316" * 15_000   # each pair stands in the wrong order: sorting them all at once is quadratic
    assert len(tokens(text)) == 1


@pytest.mark.parametrize("text, count", [
    ("。" * N, 1), ("a。" * (N // 2), N // 2), ("." * N, 1), (".)" * (N // 2), 1), ("." + ")" * (N - 2) + "x", 1),
    ("a. " * (N // 3), N // 3), ("\n" * N, 0),
    ("#\n" * (N // 2), N // 2), ("a\n" * (N // 2), 1), (" " * N, 0), ("a" * N, 1), ("\t" * (N - 1) + "#", 1), ("9" * N, 1)],
    ids=lambda value: ascii(value[:4]) if isinstance(value, str) else str(value))
def test_a_text_of_200000_characters_is_cut_into_sentences(text, count):
    assert len(sentences(text)) == count

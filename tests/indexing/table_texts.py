"""Two small documents with tables, and one without: what `format4.zip` was made from."""
ITEMS = ("기본 공제", "자녀 공제", "경로 공제", "장애인 공제", "부녀자 공제", "한부모 공제", "의료비 공제", "교육비 공제", "기부금 공제", "보험료 공제")
TEXTS = {
    "tax.md": "# 공제표\n\n다음 표에 따라 공제한다.\n\n| 공제의 종류 | 한도 금액 | 제출할 서류 |\n|---|---|---|\n"
              + "".join(f"| {name} | {n}50만원 | {name} 신청서와 가족관계증명서 {n}부 |\n" for n, name in enumerate(ITEMS, 1)),
    "report.md": "# Report\n\nRevenue grew in every region.\n\n| | 2023 | 2024 |\n|---|---|---|\n| | million | million |\n"
                 + "".join(f"| Region number {n} of the northern market | {n * 37} | {n * 41} |\n" for n in range(1, 16)),
    "leave.md": "# 휴가\n\n연차는 15일이다.\n\n병가는 60일이다.\n",
}
